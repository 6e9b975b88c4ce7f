import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'

const ROUTES = 'gateways: { desk: { transport: cli } }'
const FOLDER = 'before-restore-2026-11-28T10-00-00'
const WHO = ['--identity', '*:alice@example.com']

test('counts, exports and erasures name the content before a restore, which they do not read', async () => {
  const site = openSite({ routes: ROUTES })
  await site.start()
  const clean = await site.run(['person', 'count', ...WHO])
  assert.equal(
    clean.out.trim(),
    'Nothing was found about this person. People who are only named in the body of a webhook are not counted.\n' +
      'No message of others has alice@example.com in its text.',
  )
  mkdirSync(join(site.dir, '.trivium', FOLDER))
  writeFileSync(join(site.dir, '.trivium', FOLDER, 'messages.jsonl'), 'of alice@example.com')
  for (const line of ['count', 'erase', 'export', 'erase --confirm --wait 60s']) {
    const { out, code, err } = await site.run(['person', ...line.split(' '), ...WHO])
    assert.equal(code, 0, err)
    assert.match(out, new RegExp(`neither counted nor erased[^]*rm -r <data dir>/${FOLDER}`), line)
  }
})
