import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporaryDir } from '../fixtures/folder.ts'

const RUN = fileURLToPath(new URL('../../ops/test.ts', import.meta.url))
const FOLDER = import.meta.resolve('../fixtures/folder.ts')

test('a test run removes the folders of a test file that was killed, and no others', {
  timeout: 300_000,
}, async (t) => {
  const dir = temporaryDir(t)
  const made = join(dir, 'made.json')
  const file = join(dir, 'killed.test.mjs')
  writeFileSync(
    file,
    `import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDir } from '${FOLDER}'

test('is killed', (t) => {
  const folders = [temporaryDir(t), mkdtempSync(join(tmpdir(), 'trivium-site-'))]
  writeFileSync('${made}', JSON.stringify(folders))
  process.kill(process.pid, 'SIGKILL')
})
`,
  )
  const run = spawn(process.execPath, [RUN, file])
  const [out, err] = [text(run.stdout), text(run.stderr)]
  const [code] = await once(run, 'exit')
  assert.equal(code, 1, (await out) + (await err))
  assert.match(await out, /the process ended \(SIGKILL\)/)
  const folders: string[] = JSON.parse(readFileSync(made, 'utf8'))
  assert.deepEqual(folders.filter(existsSync), [])
  // This folder belongs to the outer run.
  assert.ok(existsSync(dir))
})
