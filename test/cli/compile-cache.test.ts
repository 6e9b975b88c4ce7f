import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { DAY } from '../../src/core/units.ts'
import { openSite } from '../fixtures/daemon.ts'
import { temporaryDir } from '../fixtures/folder.ts'
import { until } from '../fixtures/until.ts'

const BIN = fileURLToPath(new URL('../../bin/trivium.js', import.meta.url))
/** More entries than a daemon keeps. */
const TOO_MANY = 6_000
const MONTHS_AGO = new Date(Date.now() - 100 * DAY)

test('a daemon removes old entries and versions from its compile cache, and nothing from that of other programs', async (t) => {
  const tmp = temporaryDir(t)
  const env = { TMPDIR: tmp }
  const site = openSite({ ownProcess: 'measured', routes: 'routes: []\n', env })
  await promisify(execFile)(process.execPath, [BIN, '--help'], { env: { PATH: process.env.PATH, ...env } })
  const cache = join(tmp, 'trivium-compile-cache')
  const [version = ''] = readdirSync(cache)
  const entries = () => readdirSync(join(cache, version))
  const own = entries()
  assert.ok(own.length > 100, `${own.length} entries of the command`)

  /** Adds old entries, as they remain after reloads of skills and updates of Node. */
  const add = (dir: string, count: number) => {
    mkdirSync(dir, { recursive: true })
    for (let n = 0; n < count; n++) {
      const path = join(dir, `reloaded-${n}`)
      writeFileSync(path, 'x')
      utimesSync(path, MONTHS_AGO, MONTHS_AGO)
    }
    if (count < TOO_MANY) utimesSync(dir, MONTHS_AGO, MONTHS_AGO)
  }
  add(join(cache, version), TOO_MANY)
  add(join(cache, 'v20.0.0-x64-0000-0'), 1)
  add(join(tmp, 'node-compile-cache', 'v20.0.0-x64-0000-0'), 1)

  const daemon = await site.spawn()
  await until(() => entries().length <= 5_000, 'a smaller cache')
  const remaining = new Set(entries())
  assert.ok(own.every((name) => remaining.has(name)))
  // The folder of the older version is gone. Others remain, because the daemon and the command have
  // different flags of V8, and so a folder each.
  assert.ok(!readdirSync(cache).includes('v20.0.0-x64-0000-0'))
  assert.deepEqual(readdirSync(join(tmp, 'node-compile-cache')), ['v20.0.0-x64-0000-0'])
  await daemon.end()
})
