// An app with a listener of every kind: its acknowledgements and calls are the same with Bolt alone
// and behind Trivium.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { assertSame, battery, deliverAll, namesIn } from './bolt-battery.ts'
import { observe, openApp } from './bolt-harness.ts'

const source = readFileSync(new URL('../../fixtures/bolt-every-kind.cjs', import.meta.url), 'utf8')
const TEXTS = [
  'say yes',
  'fail',
  'fail twice',
  'stream',
  'remember this',
  'remember this',
  'many calls',
  'upload',
  '<@U0BOT> help',
]

describe('a Bolt app with every kind of listener', () => {
  test('acknowledges and calls Slack as with Bolt alone', async (t) => {
    const names = namesIn(source)
    names.texts = TEXTS
    const alone = await assertSame(() =>
      observe(
        t,
        (_, slack, send) => deliverAll(send, slack, battery(slack, names)),
        (slack) => {
          const site = openApp(slack, source)
          return { site, file: join(site.dir, 'apps/app.js') }
        },
      ),
    )
    t.diagnostic(`${alone.acks.length} payloads, ${alone.calls.length} calls`)
    assert.ok(alone.calls.length > 100, `${alone.calls.length} calls`)
  })
})
