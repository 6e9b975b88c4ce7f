import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporaryDir } from '../fixtures/folder.ts'

const LANE = fileURLToPath(new URL('../../ops/tests/lane.ts', import.meta.url))
const FILE = `
import { test } from 'node:test'
test('prints for ever', async () => {
  setInterval(() => console.error('still here'), 20)
  await new Promise(() => {})
})
`

test('a lane ends when its parent no longer reads its output', { timeout: 60_000 }, async (t) => {
  const file = join(temporaryDir(t), 'endless.test.mjs')
  writeFileSync(file, FILE)
  const lane = spawn(process.execPath, [LANE, file], { stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'] })
  t.after(() => lane.kill('SIGKILL'))
  const ended = once(lane, 'exit')
  await once(lane.stderr ?? lane, 'data')
  lane.stderr?.destroy()
  await ended
})
