import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, describe, test } from 'node:test'
import { bundledCommand } from '../../ops/tests/bundled-command.ts'
import { takeGlobals } from '../../src/cli/global-options.ts'
import { COMMAND_NAMES } from '../../src/cli/program.ts'
import { openSite } from '../fixtures/daemon.ts'
import { serveHttp } from '../fixtures/http-server.ts'

const ROUTES = 'routes: [{ name: rest, skill: echo, fallback: true }]'
/** A line for each command that ends by itself. */
const LINES: Record<string, string> = {
  status: 'status',
  tail: 'tail --max x',
  listen: 'listen',
  doctor: 'doctor',
  message: 'message cli hello',
  conversation: 'conversation answer nobody hello',
  history: 'history',
  audit: 'audit',
  email: 'email login nobody',
  route: 'route explain 01a1fe02-9a5e-7000-8000-000b6b2d7e20',
  config: 'config schema',
  'dead-letter': 'dead-letter list',
  reload: 'reload',
  state: 'state show',
  workbench: 'workbench',
  backup: 'backup copy.tar.gz',
  restore: 'restore none.tar.gz',
  compact: 'compact',
  store: 'store grow',
  skill: 'skill list',
  mcp: 'mcp login none',
  parts: 'parts',
  gateway: 'gateway list',
  group: 'group list',
  refusal: 'refusal list',
  run: 'run list',
  trouble: 'trouble list',
  person: 'person show nobody',
  error: 'error show usage',
}
/** These run until a signal, work on a folder of their own, or end the token that is used here. */
const NOT_RUN = ['start', 'demo', 'init', 'top', 'completion', 'token']

describe('--config and --data-dir', { timeout: 300_000 }, async () => {
  const other = openSite({ ownProcess: true, routes: ROUTES })
  const daemon = await other.start()
  const here = openSite({ ownProcess: true, routes: ROUTES })
  // In place of the daemon of this folder: no request may reach it.
  const requests: string[] = []
  const local = await serveHttp((request, response) => {
    requests.push(String(request.url))
    response.end('{}')
  })
  after(local.close)
  mkdirSync(join(here.dir, '.trivium'))
  const place = {
    pid: process.pid,
    control: new URL(local.url).host,
    config: join(here.dir, 'routes.yaml'),
  }
  here.write('.trivium/daemon.json', JSON.stringify(place))
  const FLAGS = [['--config', join(other.dir, 'routes.yaml')], [`--data-dir=${join(other.dir, '.trivium')}`]]

  /** A line with each flag, before and after the command. */
  const variantsOf = (line: string) =>
    FLAGS.flatMap((flags) => [
      [...flags, ...line.split(' ')],
      [...line.split(' '), ...flags],
    ])

  test('are tested here with every command', () => {
    const named = [...Object.keys(LINES), ...NOT_RUN]
    assert.deepEqual(
      COMMAND_NAMES.filter((name) => !named.includes(name)),
      [],
    )
  })

  test('select the daemon of each command, before and after its name', async () => {
    for (const args of Object.values(LINES).flatMap(variantsOf)) {
      const { err } = await here.run(args)
      assert.deepEqual(requests, [], `${args.join(' ')} asked the daemon here: ${err}`)
    }
  })

  test('select the daemon of each skill, before and after its name', async () => {
    const skills: { name: string }[] = JSON.parse((await other.run(['skill', 'list', '--json'])).out)
    assert.ok(skills.length > 60)
    for (const [index, { name }] of skills.entries()) {
      // The option is refused once the daemon has described the skill: nothing runs.
      const variants = variantsOf(`${name} --nonsense`)
      // Skills share their code, so that one variant for each is enough.
      const args = variants[index % variants.length] ?? []
      const { err } = await here.run(args)
      assert.deepEqual(requests, [], `${args.join(' ')} asked the daemon here: ${err}`)
      assert.match(err, /unknown option '--nonsense'/, args.join(' '))
    }
  })

  test('select the daemon that a command changes', async () => {
    for (const flags of FLAGS) {
      const { out } = await here.run(['status', ...flags, '--json'])
      assert.equal(JSON.parse(out).pid, daemon.pid)
      await here.run([...flags, 'state-set', 'where', '"before"'])
      assert.equal(await daemon.invoke('state-get', { key: 'where' }), 'before')
      await here.run(['state-set', 'where', '"after"', ...flags])
      assert.equal(await daemon.invoke('state-get', { key: 'where' }), 'after')
      assert.equal((await here.run(['state-get', ...flags, 'where'])).out, 'after\n')
    }
    assert.equal((await here.run(['message', 'cli', ...(FLAGS[0] ?? []), 'hello'])).out, 'You said: hello\n')
    assert.deepEqual(requests, [])
  })

  test('are refused if the data directory of the file belongs to a daemon with another file', async () => {
    const third = openSite({ routes: ROUTES })
    const drop = ['dead-letter-drop', '--config', join(third.dir, 'routes.yaml')]
    const { code, err } = await here.run(drop)
    assert.equal(code, 2, err)
    assert.match(err, /belongs to a daemon of .*--data-dir/)
    third.write('routes.yaml', 'routes: 7')
    const invalid = await here.run(drop)
    assert.equal(invalid.code, 2, invalid.err)
    assert.deepEqual(requests, [])
  })

  test('are refused without a daemon if a file elsewhere would use the store of this folder', async () => {
    const [mine, theirs, plain] = [
      openSite({ routes: ROUTES }),
      openSite({ routes: ROUTES }),
      openSite({ routes: ROUTES }),
    ]
    await mine.run(['state-set', 'where', '"mine"'])
    await theirs.run(['state-set', 'where', '"theirs"'])
    const flags = ['--config', join(theirs.dir, 'routes.yaml')]
    for (const line of [
      'state-get where',
      'message cli hello',
      'status',
      'history',
      'state show',
      'compact',
      'backup x.tgz',
    ]) {
      const { code, err } = await mine.run([...line.split(' '), ...flags])
      assert.equal(code, 2, line + err)
      assert.match(err, /belongs to a daemon of this folder, not of .*--data-dir/, line)
    }
    assert.equal(
      (await mine.run(['state-get', 'where', ...flags, '--data-dir', join(theirs.dir, '.trivium')])).out,
      'theirs\n',
    )
    assert.equal((await mine.run(['state-get', 'where'])).out, 'mine\n')
    // A file below this folder belongs to it.
    mkdirSync(join(plain.dir, 'config'))
    plain.write('config/staging.yaml', ROUTES)
    assert.equal(
      (await plain.run(['message', 'cli', 'hello', '--config', 'config/staging.yaml'])).out,
      'You said: hello\n',
    )
  })

  test('are read up to `--`, and are refused without a value', async () => {
    const { rest, globals } = takeGlobals(['--json', 'message', '--config=a b', 'cli', '--', '--json'])
    assert.deepEqual(
      [rest, globals],
      [['message', 'cli', '--', '--json'], { json: true, noPager: false, config: 'a b' }],
    )
    for (const args of [
      ['status', '--config'],
      ['--data-dir=', 'status'],
      ['state-get', 'x', '--config'],
    ]) {
      const { code, err } = await here.run(args)
      assert.equal(code, 2, err)
      assert.match(err, /^trivium: --(config|data-dir) needs a value: --/)
    }
    assert.match(
      (await here.run(['state', 'show', '--help'])).out,
      /--config <file>[\s\S]*--data-dir[\s\S]*--json/,
    )
  })
})

describe('offline commands', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES })
  const bin = await bundledCommand()
  const run = async (...args: string[]) => {
    const env = { PATH: process.env.PATH ?? '', HOME: site.dir }
    const child = spawn(process.execPath, [bin, ...args], { cwd: site.dir, env })
    const streams = [text(child.stdout), text(child.stderr)] as const
    const [code] = await once(child, 'close')
    const [out, err] = await Promise.all(streams)
    return { code, out, err }
  }

  test('wait for each other', async () => {
    const all = await Promise.all([1, 2, 3].map((n) => run('message', 'cli', `remember ${n}`)))
    for (const { code, out, err } of all) {
      assert.equal(code, 0, err)
      assert.match(out, /^Stored note memory-\d\.\n$/)
    }
    const found = JSON.parse((await site.run(['recall', '--json'])).out).notes
    assert.deepEqual(found.map((note: { text: string }) => note.text).sort(), ['1', '2', '3'])
  })

  test('wait for a daemon that starts or stops, and the daemon for them', async () => {
    const before = run('message', 'cli', 'remember before')
    const [daemon, during] = await Promise.all([site.start(), run('message', 'cli', 'remember during')])
    const atEnd = run('message', 'cli', 'remember at the end')
    const ended = daemon.end()
    const afterEnd = run('message', 'cli', 'remember after')
    for (const { code, out, err } of await Promise.all([before, during, atEnd, afterEnd])) {
      assert.equal(code, 0, err)
      assert.match(out, /^Stored note/)
    }
    assert.equal(await ended, 0)
  })

  test('open the store themselves, and release it while they wait for a key', async () => {
    const waiting = site.run(['state-wait', 'job', '--timeout', '60000'])
    assert.equal((await site.run(['state-set', 'job', '{"done":true}'])).code, 0)
    assert.match((await waiting).out, /"done": true/)
    assert.equal((await site.run(['state-delete', 'job'])).code, 0)
    assert.equal((await site.run(['state-wait', 'job', '--timeout', '1'])).out, 'null\n')
  })

  test('cannot use the store `memory`, which belongs to a daemon', async () => {
    const { code, err } = await site.run(['state-set', 'job', '1', '--store', 'memory'])
    assert.equal(code, 3)
    assert.match(err, /trivium start/)
  })

  test('make a project in the named folder', async () => {
    const empty = openSite({ routes: ROUTES })
    const { code, out } = await empty.run(['init', 'shop'])
    assert.equal(code, 0)
    assert.match(out, /cd shop/)
    assert.ok(existsSync(join(empty.dir, 'shop', 'routes.yaml')))
    assert.match((await empty.run(['init', 'shop'])).out, /already existed/)
  })

  test('show help without making a store', async () => {
    const empty = openSite({ routes: ROUTES })
    assert.match((await empty.run(['echo', '--help'])).out, /Usage: trivium echo/)
    assert.equal((await empty.run(['ecko', '--help'])).code, 2)
    assert.equal(existsSync(join(empty.dir, '.trivium')), false)
  })
})
