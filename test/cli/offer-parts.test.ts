import assert from 'node:assert/strict'
import { cpSync, globSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { builtPackage } from '../../ops/tests/built-package.ts'
import { atTerminal, HAS_TERMINAL } from '../fixtures/at-terminal.ts'
import { temporaryDir } from '../fixtures/folder.ts'

const ROUTES = 'routes: [{ name: jobs, queue: jobs }]\nqueues: { redis: "redis://127.0.0.1:1" }\n'

/** A project with the package whose routes.yaml needs the part `queues`, which is missing. */
async function makeProject(t: TestContext) {
  const dir = temporaryDir(t)
  cpSync(await builtPackage(), join(dir, 'node_modules', 'trivium'), { recursive: true })
  for (const name of globSync('node_modules/[!.]*')) {
    if (!/bullmq|bull-board/.test(name)) symlinkSync(resolve(name), join(dir, name))
  }
  writeFileSync(join(dir, 'package.json'), '{}')
  writeFileSync(join(dir, 'routes.yaml'), ROUTES)
  return dir
}

/**
 * Runs a command at a terminal and answers its question. Resolves with its exit code and the text
 * of the terminal.
 */
async function runAndAnswer(dir: string, command: string, text: string) {
  const bin = join(dir, 'node_modules', 'trivium', 'bin', 'trivium.js')
  const line = `'${process.execPath}' '${bin}' ${command}`
  // npm fails to install: it is offline, and its cache is empty.
  const env = {
    PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
    HOME: dir,
    npm_config_offline: 'true',
    npm_config_cache: join(dir, 'cache'),
  }
  return await atTerminal(line, { question: 'Install now? (y/N)', answer: text, cwd: dir, env })
}

const skip = !HAS_TERMINAL

describe('at a terminal, a missing part', { timeout: 600_000, skip }, () => {
  test('is offered by init, which names the command if it is refused', async (t) => {
    const dir = await makeProject(t)
    const { code, shown } = await runAndAnswer(dir, 'init', 'n')
    assert.equal(code, 0, shown)
    assert.match(shown, /queues is.*needed by route jobs.*Install now\? \(y\/N\)/s)
    assert.match(shown, /npx trivium parts install +routes\.yaml needs what is not installed: queues/)
  })

  test('is offered by doctor, which reports it if it is refused', async (t) => {
    const dir = await makeProject(t)
    mkdirSync(join(dir, 'skills'))
    const { code, shown } = await runAndAnswer(dir, 'doctor', '')
    assert.equal(code, 1, shown)
    assert.match(shown, /Install now\? \(y\/N\).*✗ +part queues/s)
  })

  test('is installed by the package manager of the project after a yes', async (t) => {
    const dir = await makeProject(t)
    const { code, shown } = await runAndAnswer(dir, 'doctor', 'y')
    assert.match(shown, /npm install bullmq@\d+\.\d+\.\d+/)
    assert.match(shown, /npm error code ENOTCACHED/)
    assert.equal(code, 1, shown)
  })
})
