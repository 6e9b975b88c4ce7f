import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporaryDir } from '../fixtures/folder.ts'

const RUNNER = fileURLToPath(new URL('../../ops/tests/runner.ts', import.meta.url))
const FILE = `
import { test } from 'node:test'
test('prints for ever', async () => {
  setInterval(() => console.error('still here'), 20)
  await new Promise(() => {})
})
`

test('a runner ends when its parent no longer reads its output', { timeout: 300_000 }, async (t) => {
  const file = join(temporaryDir(t), 'endless.test.mjs')
  writeFileSync(file, FILE)
  const runner = spawn(process.execPath, [RUNNER, file], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
  })
  t.after(() => runner.kill('SIGKILL'))
  const ended = once(runner, 'exit')
  await once(runner.stderr ?? runner, 'data')
  runner.stderr?.destroy()
  await ended
})
