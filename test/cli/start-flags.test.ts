import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporaryDir } from '../fixtures/folder.ts'
import { until } from '../fixtures/until.ts'

const BIN = fileURLToPath(new URL('../../bin/trivium.js', import.meta.url))
const skip = process.platform !== 'linux' && 'reads the command line of a process in /proc'

test('global options before `start` do not keep the daemon from its memory settings', { skip }, async (t) => {
  const dir = temporaryDir(t)
  const config = join(dir, 'routes.yaml')
  writeFileSync(config, 'daemon: { listen: "127.0.0.1:0", control-listen: "127.0.0.1:0" }\nroutes: []\n')
  const args = [BIN, '--config', config, `--data-dir=${dir}`, 'start']
  const env = { PATH: process.env.PATH, TRIVIUM_TOKEN: 'secret-token', TRIVIUM_LOG_LEVEL: 'fatal' }
  const daemon = spawn(process.execPath, args, { cwd: dir, env, stdio: 'ignore' })
  t.after(() => daemon.kill('SIGKILL'))
  const file = join(dir, 'daemon.json')
  await until(() => existsSync(file), 'the daemon')
  const { pid } = JSON.parse(readFileSync(file, 'utf8'))
  assert.match(readFileSync(`/proc/${pid}/cmdline`, 'utf8'), /--max-semi-space-size=6/)
})

test('flags that this Node does not know are left out', async () => {
  const { knownFlags } = await import(new URL('../../bin/known-flags.js', import.meta.url).href)
  const flags = ['--max-semi-space-size=6', '--no-allocation-site-pretenuring']
  assert.deepEqual(knownFlags(process.execPath, flags), flags)
  assert.deepEqual(knownFlags(process.execPath, [...flags, '--removed-from-v8']), flags)
})
