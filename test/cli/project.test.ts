import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { builtPackage } from '../../ops/tests/built-package.ts'
import { main } from '../../src/cli/program.ts'
import { table } from '../../src/lib/text-table.ts'
import { until } from '../fixtures/until.ts'

const RECURSIVE = { recursive: true }

/**
 * The built package in an empty folder, as npm installs it. The packages that it needs are links
 * into this clone.
 */
describe('the package in an empty folder', { timeout: 300_000 }, () => {
  const dir = mkdtempSync(join(tmpdir(), 'trivium-project-'))
  const installed = join(dir, 'node_modules', 'trivium')
  const bin = join(installed, 'bin', 'trivium.js')
  const env = { HOME: dir, TRIVIUM_LISTEN: '127.0.0.1:0', TRIVIUM_CONTROL_LISTEN: '127.0.0.1:0' }
  let program: typeof import('../../src/cli/program.ts')
  /**
   * Runs a command of the package in this process, which takes a tenth of the time of a new one.
   */
  const run = async (...args: string[]) => {
    const output = { out: '', err: '' }
    const io = {
      cwd: dir,
      env,
      out(text: string) {
        output.out += text
      },
      err(text: string) {
        output.err += text
      },
    }
    return { code: await program.main(args, io), ...output }
  }
  /** Runs a command of the package as a process. */
  const spawned = (args: string[]) => {
    const options = { cwd: dir, env, encoding: 'utf8' } as const
    const { status: code, stdout: out, stderr: err } = spawnSync(process.execPath, [bin, ...args], options)
    return { code, out, err }
  }
  before(async () => {
    cpSync(await builtPackage(), installed, RECURSIVE)
    for (const name of globSync('node_modules/[!.]*')) symlinkSync(resolve(name), join(dir, name))
    program = await import(join(installed, 'dist', 'src', 'cli', 'program.js'))
  })
  after(() => rm(dir, { ...RECURSIVE, maxRetries: 5 }))

  test('init makes a project that compiles, is valid and starts; it overwrites nothing', async (t) => {
    writeFileSync(join(dir, '.gitignore'), 'mine\n')
    const first = spawned(['init'])
    assert.equal(first.code, 0, first.err)
    const made = [...first.out.matchAll(/^made +(.*)/gm)].map(([, file = '']) => relative(dir, file))
    const rest = ['package.json', 'tsconfig.json', '.env.example', 'skills/hello/index.ts']
    assert.deepEqual(made, ['routes.yaml', ...rest])
    assert.match(first.out, /kept .*\.gitignore[\s\S]*trivium start/)
    assert.equal(readFileSync(join(dir, '.gitignore'), 'utf8'), 'mine\n')
    assert.doesNotMatch((await run('init')).out, /^made/m)
    const types = spawnSync(resolve('node_modules/.bin/tsc'), { cwd: dir })
    assert.equal(types.status, 0, String(types.stdout))
    assert.equal((await run('route', 'check')).code, 0)
    const daemon = spawn(process.execPath, [bin, 'start'], { cwd: dir, env })
    t.after(() => daemon.kill('SIGKILL'))
    await until(() => existsSync(join(dir, '.trivium', 'daemon.json')), 'a daemon that is ready')
    assert.equal(spawned(['message', 'cli', 'hello Ada']).out, 'You said: hello Ada\n')
    assert.match((await run('message', 'cli', 'remember the milk')).out, /^Stored note/, 'as the README says')
    assert.match((await run('message', 'list', '--json')).out, /"hello Ada"/)
  })

  test('init adds trivium to package.json with its version, or as it was installed itself', async () => {
    const specIn = (folder: string) =>
      JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).dependencies.trivium
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
    assert.equal(specIn(dir), `^${version}`)
    const given = readFileSync(join(dir, 'package.json'), 'utf8')
    const cases = [
      ['file:vendor/trivium.tgz', `file:${join(dir, 'vendor/trivium.tgz')}`],
      ['file:vendor/$& "new".tgz', `file:${join(dir, 'vendor/$& "new".tgz')}`],
      ['file:../trivium', `file:${resolve(dir, '../trivium')}`],
      ['github:acme/trivium#main', 'github:acme/trivium#main'],
      ['https://example.com/trivium.tgz', 'https://example.com/trivium.tgz'],
      ['npm:@acme/trivium@0.2.0', 'npm:@acme/trivium@0.2.0'],
      ['latest', `^${version}`],
    ]
    for (const [index, [installed, expected]] of cases.entries()) {
      writeFileSync(join(dir, 'package.json'), JSON.stringify({ dependencies: { trivium: installed } }))
      assert.equal((await run('init', `made-${index}`)).code, 0)
      assert.equal(specIn(join(dir, `made-${index}`)), expected)
    }
    writeFileSync(join(dir, 'package.json'), given)
    const inside = JSON.stringify({ dependencies: { trivium: 'file:made-inside/trivium.tgz' } })
    writeFileSync(join(dir, 'package.json'), inside)
    await run('init', 'made-inside')
    assert.equal(specIn(join(dir, 'made-inside')), 'file:trivium.tgz')
    writeFileSync(join(dir, 'package.json'), given)
  })

  test('init in an existing project prints how to add Trivium, and does not change package.json', async (t) => {
    const app = join(dir, 'their-app')
    mkdirSync(app)
    t.after(() => rm(app, RECURSIVE))
    const manifest = JSON.stringify({
      name: 'their-app',
      main: 'app.js',
      dependencies: { dotenv: '^17.0.0' },
    })
    const steps = async (given: string, lock = 'package-lock.json') => {
      writeFileSync(join(app, 'package.json'), given)
      writeFileSync(join(app, lock), '')
      const { out } = await run('init', 'their-app')
      assert.equal(readFileSync(join(app, 'package.json'), 'utf8'), given)
      await rm(join(app, lock))
      const [, next = ''] = out.split('Next:\n')
      return next
        .trim()
        .split('\n')
        .map((line) => line.trim())
    }
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
    assert.deepEqual((await steps(manifest)).slice(0, 3), [
      'cd their-app',
      `npm install trivium@^${version}`,
      'npm install -D typescript @types/node  optional: types for editors',
    ])
    assert.equal((await steps(manifest, 'pnpm-lock.yaml'))[1], `pnpm add trivium@^${version}`)
    const complete = {
      dependencies: { trivium: '*' },
      devDependencies: { typescript: '*', '@types/node': '*' },
    }
    assert.match((await steps(JSON.stringify(complete)))[1] ?? '', /^npm install +what package.json names$/)
    writeFileSync(join(app, '.gitignore'), 'node_modules\n/.env\n')
    assert.equal((await steps(manifest)).at(-1), 'Add to .gitignore: .trivium')
  })

  test('the routes.yaml of new projects is that of a new clone', (t) => {
    const committed = spawnSync('git', ['show', 'HEAD:routes.yaml'], { encoding: 'utf8' })
    if (committed.status !== 0) return t.skip('this is not a git clone')
    assert.equal(readFileSync('project/routes.yaml', 'utf8'), committed.stdout)
  })

  test('init of a clone adds the clone as a folder', async (t) => {
    const project = mkdtempSync(join(tmpdir(), 'trivium-of-clone-'))
    t.after(() => rm(project, RECURSIVE))
    const ignore = () => {}
    assert.equal(await main(['init', project], { cwd: dir, env, out: ignore, err: ignore }), 0)
    const { dependencies } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'))
    assert.equal(dependencies.trivium, `file:${resolve('.')}`)
  })

  test('a shell completes commands, skills and flags', async (t) => {
    // The library prints the words itself.
    const { mock } = t.mock.method(console, 'log', () => {})
    const complete = async (...words: string[]) => {
      mock.resetCalls()
      await run('complete', '--', ...words)
      return mock.calls.map(({ arguments: [line] }) => line).join('\n')
    }
    assert.match(await complete('dead-letter', 're'), /^retry\t/m)
    assert.match(await complete('gateway', 'rec'), /^receive\t/m)
    assert.match(await complete('skill', 'pau'), /^pause\t/m)
    assert.match(await complete('group', 's'), /^show\t.*\nskip\t.*\nseek\t/m)
    assert.match(await complete('gatew'), /^gateway\tstate and traffic/m)
    assert.match(await complete('he'), /^hello\t/m)
    assert.match(await complete('event', 'wait', '--to'), /^--topic\t/m)
  })

  test('completion prints the script for each shell', async () => {
    for (const shell of ['bash', 'zsh', 'fish'])
      assert.match(spawned(['completion', shell]).out, /trivium complete --/)
    assert.equal((await run('completion', 'tcl')).code, 2)
  })

  test('output has colours only at terminals or if they are forced, and never those of a message', async (t) => {
    const { FORCE_COLOR } = process.env
    t.after(() => {
      if (FORCE_COLOR === undefined) delete process.env.FORCE_COLOR
      else process.env.FORCE_COLOR = FORCE_COLOR
    })
    delete process.env.FORCE_COLOR
    assert.doesNotMatch((await run('doctor')).out, /\p{Cc}\[/u)
    await run('message', 'cli', '\u001b[32mgreen\u001b[39m', '--wait', '0')
    process.env.FORCE_COLOR = '1'
    assert.match((await run('doctor')).out, /\p{Cc}\[32m✓\p{Cc}\[39m/u)
    assert.match((await run('message', 'list')).out, /\p{Cc}\[1mid[\s\S]*\\u001b\[32mgreen\\u001b\[39m/u)
    assert.match((await run('nonsense')).err, /^\p{Cc}\[31mtrivium:/u)
  })
})

test('a table that is too wide is wrapped between words, never within a word', () => {
  const link = `https://example.com/${'a'.repeat(30)}`
  const shown = table(['id', 'why'], [['m1', `refused, as the far end says ${link} and more`]], 40)
  assert.equal(shown, `id  why\nm1  refused, as the far end says\n    ${link}\n    and more`)
  assert.equal(table(['id', 'why'], [['m1', 'short']], 40), 'id  why\nm1  short')
  const id = 'a'.repeat(30)
  assert.equal(
    table([id, 'why'], [['m1', 'it did fail']], 40),
    `${id}  why\nm1${' '.repeat(30)}it did\n${' '.repeat(32)}fail`,
  )
  assert.match(table([id, 'a heading'], [['m1', 'it did fail']], 36), /^a+ {2}a heading\nm1 +it did\n +fail$/)
  assert.equal(table(['a', 'b'], [['\u001b', 'c']], 40), 'a       b\n\\u001b  c')
})

test('a table whose columns do not fit shows the cells of a row below each other', () => {
  const head = ['id', 'gateway', 'sender', '']
  const rows = [
    ['01a21eba-7990-7000-8000-000474f57ee7', 'support', undefined, 'waiting for its next attempt'],
  ]
  assert.equal(
    table(head, rows, 40),
    `01a21eba-7990-7000-8000-000474f57ee7
  gateway: support
  waiting for its next attempt`,
  )
  assert.match(table(head, rows, 120), /^id +gateway +sender *\n01a2/)
})
