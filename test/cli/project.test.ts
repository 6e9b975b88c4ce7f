import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { table } from '../../src/cli/terminal.ts'
import { until } from '../fixtures/until.ts'

const TSC = resolve('node_modules/.bin/tsc')

/** The built package, installed into an empty folder as npm would: what it needs is linked from this clone. */
describe('the package in an empty folder', { timeout: 120_000 }, () => {
  const dir = mkdtempSync(join(tmpdir(), 'trivium-project-'))
  const installed = join(dir, 'node_modules', 'trivium')
  const bin = join(installed, 'bin', 'trivium.js')
  const env = {
    PATH: process.env.PATH,
    HOME: dir,
    TRIVIUM_LISTEN: '127.0.0.1:0',
    TRIVIUM_CONTROL_LISTEN: '127.0.0.1:0',
  }
  const run = (args: string[], more = {}) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [bin, ...args], {
      cwd: dir,
      env: { ...env, ...more },
    })
    return { code: status, out: String(stdout), err: String(stderr) }
  }
  before(() => {
    mkdirSync(installed, { recursive: true })
    const built = spawnSync(process.execPath, ['ops/build.ts', join(installed, 'dist')])
    assert.equal(built.status, 0, String(built.stdout))
    for (const part of ['bin', 'package.json', 'project'])
      cpSync(part, join(installed, part), { recursive: true })
    for (const name of readdirSync('node_modules').filter((one) => !one.startsWith('.'))) {
      if (!existsSync(join(dir, 'node_modules', name))) {
        symlinkSync(resolve('node_modules', name), join(dir, 'node_modules', name))
      }
    }
  })
  after(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }))

  test('init makes a project that tsc, routes check and start take, and never overwrites', async (t) => {
    writeFileSync(join(dir, '.gitignore'), 'mine\n')
    const first = run(['init'])
    assert.equal(first.code, 0, first.err)
    for (const file of [
      'routes.yaml',
      'package.json',
      'tsconfig.json',
      '.env.example',
      'skills/hello/index.ts',
    ]) {
      assert.match(first.out, new RegExp(`made .*${file}`))
      assert.ok(existsSync(join(dir, file)))
    }
    assert.match(first.out, /kept .*\.gitignore[\s\S]*trivium start/)
    assert.equal(readFileSync(join(dir, '.gitignore'), 'utf8'), 'mine\n')
    assert.doesNotMatch(run(['init']).out, /^made/m)
    const types = spawnSync(TSC, { cwd: dir })
    assert.equal(types.status, 0, String(types.stdout))
    assert.equal(run(['routes', 'check']).code, 0)
    const daemon = spawn(process.execPath, [bin, 'start'], { cwd: dir, env })
    t.after(() => daemon.kill('SIGKILL'))
    await until(() => existsSync(join(dir, '.trivium', 'daemon.json')), 'a daemon that is ready', 30_000)
    assert.equal(run(['message', 'cli', 'hello Ada']).out, 'You said: hello Ada\n')
    assert.match(run(['message', 'list', '--json']).out, /"hello Ada"/)
  })

  test('a shell completes commands, skills and flags, with the script for each shell', () => {
    const complete = (...words: string[]) =>
      run(['complete', '--', ...words])
        .out.replaceAll(/\t.*/g, '')
        .split('\n')
    assert.ok(complete('dead-letters', 're').includes('retry'))
    assert.ok(complete('he').includes('hello') && complete('event-w').includes('event-wait'))
    assert.ok(complete('event-wait', '--to').includes('--topic'))
    for (const shell of ['bash', 'zsh', 'fish'])
      assert.match(run(['completion', shell]).out, /trivium complete --/)
    assert.equal(run(['completion', 'tcl']).code, 2)
  })

  test('colours are for terminals and whoever forces them, and never in what others wrote', () => {
    assert.doesNotMatch(run(['doctor']).out, /\p{Cc}\[/u)
    const forced = run(['doctor'], { FORCE_COLOR: '1' }).out
    assert.match(forced, /\p{Cc}\[32m✓\p{Cc}\[39m/u)
    run(['message', 'cli', '\u001b[32mgreen\u001b[39m', '--wait', '0'])
    assert.match(
      run(['message', 'list'], { FORCE_COLOR: '1' }).out,
      /\p{Cc}\[1mid.*\n[\s\S]*\\u001b\[32mgreen\\u001b\[39m/u,
    )
    assert.match(run(['nonsense-at-all'], { FORCE_COLOR: '1' }).err, /^\p{Cc}\[31mtrivium:/u)
  })
})

test('a table that is too wide is wrapped between words, and never within one', () => {
  const link = `https://example.com/${'a'.repeat(30)}`
  const shown = table(['id', 'why'], [['m1', `refused, as the far end says ${link} and more`]], 40)
  assert.deepEqual(shown.split('\n').slice(1), [
    'm1  refused, as the far end says',
    `    ${link}`,
    '    and more',
  ])
  assert.equal(table(['id', 'why'], [['m1', 'short']], 40), 'id  why\nm1  short')
})
