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
/** A command line for each command, which ends by itself. */
const LINES: Record<string, string> = {
  status: 'status',
  tail: 'tail --max x',
  listen: 'listen',
  doctor: 'doctor',
  message: 'message cli hello',
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
  refusal: 'refusal list',
  error: 'error show usage',
}
/** They run until a signal, work on a folder of their own, or end the token that is used here. */
const NOT_RUN = ['start', 'demo', 'init', 'top', 'completion', 'token']

describe('global options', { timeout: 300_000 }, async () => {
  const other = openSite({ ownProcess: true, routes: ROUTES })
  const daemon = await other.start()
  const here = openSite({ ownProcess: true, routes: ROUTES })
  // Stands for the daemon of this folder: nothing may reach it.
  const asked: string[] = []
  const stranger = await serveHttp((request, response) => {
    asked.push(String(request.url))
    response.end('{}')
  })
  after(stranger.close)
  mkdirSync(join(here.dir, '.trivium'))
  const place = {
    pid: process.pid,
    control: new URL(stranger.url).host,
    config: join(here.dir, 'routes.yaml'),
  }
  here.write('.trivium/daemon.json', JSON.stringify(place))
  const FLAGS = [['--config', join(other.dir, 'routes.yaml')], [`--data-dir=${join(other.dir, '.trivium')}`]]

  test('every command has a line here', () => {
    const named = [...Object.keys(LINES), ...NOT_RUN].sort()
    assert.deepEqual(
      COMMAND_NAMES.filter((name) => !named.includes(name)),
      [],
    )
  })

  test('the daemon that they name is the one that each command asks, before and after its name', async () => {
    const skills = JSON.parse((await other.run(['skill', 'list', '--json'])).out)
    assert.ok(skills.length > 60)
    // Such an option is refused once the daemon has described the skill: nothing runs.
    const lines = [
      ...Object.values(LINES),
      ...skills.map(({ name }: { name: string }) => `${name} --nonsense`),
    ]
    for (const line of lines) {
      const words = line.split(' ')
      for (const flags of FLAGS) {
        for (const args of [
          [...flags, ...words],
          [...words, ...flags],
        ]) {
          const { err } = await here.run(args)
          assert.deepEqual(asked, [], `${args.join(' ')} asked the daemon here: ${err}`)
          if (words[1] === '--nonsense') assert.match(err, /unknown option '--nonsense'/, args.join(' '))
        }
      }
    }
  })

  test('what is changed is changed there', async () => {
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
    assert.deepEqual(asked, [])
  })

  test('a file elsewhere whose data directory is the one of another daemon is refused', async () => {
    const third = openSite({ routes: ROUTES })
    const { code, err } = await here.run(['dead-letter-drop', '--config', join(third.dir, 'routes.yaml')])
    assert.deepEqual([code, asked], [2, []], err)
    assert.match(err, /belongs to a daemon of .*--data-dir/)
    third.write('routes.yaml', 'routes: 7')
    const broken = await here.run(['dead-letter-drop', '--config', join(third.dir, 'routes.yaml')])
    assert.deepEqual([broken.code, asked], [2, []], broken.err)
  })

  test('without a daemon, a file elsewhere does not work on the store of this folder', async () => {
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
    // A file in a folder of this one is of this one.
    mkdirSync(join(plain.dir, 'config'))
    plain.write('config/staging.yaml', ROUTES)
    assert.equal(
      (await plain.run(['message', 'cli', 'hello', '--config', 'config/staging.yaml'])).out,
      'You said: hello\n',
    )
  })

  test('they are taken up to a --, and one without its value is refused', async () => {
    const { rest, globals } = takeGlobals(['--json', 'message', '--config=a b', 'cli', '--', '--json'])
    assert.deepEqual([rest, globals], [['message', 'cli', '--', '--json'], { json: true, config: 'a b' }])
    for (const args of [
      ['status', '--config'],
      ['--data-dir=', 'status'],
      ['state-get', 'x', '--config'],
    ]) {
      const { code, err } = await here.run(args)
      assert.deepEqual([code, /argument missing/.test(err)], [2, true], err)
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
    const all = await Promise.all([1, 2, 3, 4].map((n) => run('message', 'cli', `remember ${n}`)))
    assert.deepEqual(
      all.map(({ code, out }) => [code, /^Stored note memory-\d\.\n$/.test(out)]),
      all.map(() => [0, true]),
      all.map(({ err }) => err).join(),
    )
    const found = JSON.parse((await run('recall', '--json')).out).notes
    assert.deepEqual(found.map((note: { text: string }) => note.text).sort(), ['1', '2', '3', '4'])
  })

  test('wait for a daemon that starts or stops, and the daemon for them', async () => {
    const early = run('message', 'cli', 'remember early')
    const [daemon, during] = await Promise.all([site.start(), run('message', 'cli', 'remember during')])
    const late = run('message', 'cli', 'remember late')
    const ended = daemon.end()
    const last = run('message', 'cli', 'remember last')
    for (const { code, out, err } of await Promise.all([early, late, last])) {
      assert.deepEqual([code, /^Stored note/.test(out)], [0, true], err)
    }
    assert.deepEqual([during.code, await ended], [0, 0])
  })

  test('run what needs the store alone, and let others in while they wait for a key', async () => {
    const waits = site.run(['state-wait', 'job', '--timeout', '60000'])
    assert.equal((await site.run(['state-set', 'job', '{"done":true}'])).code, 0)
    assert.match((await waits).out, /"done": true/)
    assert.equal((await site.run(['state-delete', 'job'])).code, 0)
    assert.equal((await site.run(['state-wait', 'job', '--timeout', '1'])).out, 'null\n')
    const memory = await site.run(['state-set', 'job', '1', '--store', 'memory'])
    assert.deepEqual([memory.code, /trivium start/.test(memory.err)], [3, true])
  })

  test('make a project in a folder that is named', async () => {
    const empty = openSite({ routes: ROUTES })
    const { code, out } = await empty.run(['init', 'shop'])
    assert.deepEqual([code, /cd shop/.test(out)], [0, true])
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
