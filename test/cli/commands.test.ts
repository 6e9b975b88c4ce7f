import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { bundledCommand } from '../../ops/tests/bundled-command.ts'
import { openSite } from '../fixtures/daemon.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { assertPrompt } from '../fixtures/in-time.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  demo: { transport: webhook, path: /hooks/demo, verify: { scheme: none } }
routes:
  - name: bad
    match: { text: "bad" }
    skill: fail
    retry: { attempts: 1 }
  - { name: slow, match: { text: "slow*" }, skill: fail, retry: { attempts: 2, delay: 3s } }
  - name: rest
    skill: echo
`
const SKILLS = { fail: `export default { description: 'fails', run() { throw new Error('I fail') } }` }
const BIN = await bundledCommand()

describe('trivium, with a daemon', { timeout: 300_000 }, async () => {
  const site = openSite({ ownProcess: true, routes: ROUTES, skills: SKILLS })
  const daemon = await site.start()
  const json = async (...args: string[]) => {
    const { code, out, err } = await site.run([...args, '--json'])
    assert.equal(code, 0, err)
    assert.equal(out.trimEnd().split('\n').length, 1, 'one line of JSON and nothing else')
    return JSON.parse(out)
  }

  test('writes where it is, and what editors know routes.yaml by, readable by tools', async () => {
    const schema = join(site.dir, '.trivium', 'routes.schema.json')
    await until(() => existsSync(schema), 'the schema')
    assert.equal(readFileSync(schema, 'utf8'), (await site.run(['config', 'schema'])).out)

    const file = JSON.parse(readFileSync(join(site.dir, '.trivium', 'daemon.json'), 'utf8'))
    assert.deepEqual(Object.keys(file).sort(), ['config', 'control', 'listen', 'pid', 'startedAt', 'store'])
    assert.equal(file.pid, daemon.pid)
  })

  test('message prints the reply and nothing else, and fails with 1 where the skill failed', async () => {
    const said = await site.run(['message', 'cli', 'hello', 'there'])
    assert.deepEqual([said.code, said.out], [0, 'You said: hello there\n'])
    const failed = await site.run(['message', 'cli', 'bad'])
    assert.equal(failed.code, 1)
    assert.match(failed.out, /It failed; see: trivium dead-letter show/)
    const result = await json('message', 'cli', 'again', '--conversation', 'c', '--key', 'k')
    assert.deepEqual([result.conversation, result.outcome, result.duplicate], ['c', 'done', false])
    const unknown = await site.run(['message', 'nobody', 'hello'])
    assert.equal(unknown.code, 1)
    assert.match(unknown.err, /no running gateway nobody.*cli/)
    const slip = await site.run(['message', 'shwo', 'x'])
    assert.deepEqual([slip.code, /trivium message show\?/.test(slip.err)], [2, true], slip.err)
  })

  test('message show tells what became of a message, and what is in it does not steer the terminal', async () => {
    const text = 'look\u001b[2J at\u009b1m me \u202ecod.exe'
    const { id } = await json('message', 'cli', text)
    const shown = await site.run(['message', 'show', id])
    assert.match(shown.out, /look\\u001b\[2J at\\u009b1m me \\u202ecod\.exe[\s\S]*dispatch +done/)
    assert.equal((await json('message', 'show', id)).message.text, text)
    const listed = await json('message', 'list', '--limit', '1')
    assert.deepEqual([listed.messages.length, listed], [1, await json('message-search', '--limit', '1')])
    assert.equal((await json('message-list', '--limit', '1'))[0].id, listed.messages[0].id)
    const found = await json('message', 'list', '--text', 'LOOK', '--outcome', 'done,dead', '--since', '1h')
    assert.deepEqual([found.messages.map((one: { id: string }) => one.id), found.next], [[id], undefined])
    const older = await json('message', 'list', '--outcome', 'done', '--before', id)
    assert.ok(
      older.messages.every((one: { id: string; outcome: string }) => one.id < id && one.outcome === 'done'),
    )
    assert.match((await site.run(['message', 'list'])).out, /^id +age +gateway +from +outcome +text\n01\w/)
    assert.match((await site.run(['message', 'list', '--outcome', 'lost'])).err, /outcome/)
    const missing = await site.run(['message', 'show', '01a1fe02-9a5e-7000-8000-000b6b2d7e20', '--json'])
    assert.deepEqual([missing.code, missing.out], [1, ''])
    assert.equal(JSON.parse(missing.err).error.code, 'message_not_found')
  })

  test('dead-letters lists, shows, drives again and drops', async () => {
    const { id } = JSON.parse((await site.run(['message', 'cli', 'bad', '--json'])).out)
    assert.match((await site.run(['dead-letter', 'list'])).out, new RegExp(`${id} .*dispatch .*bad .*I fail`))
    assert.equal((await json('dead-letter', 'show', id)).errors.length, 1)
    assert.match((await site.run(['dead-letter', 'retry', id])).out, /1 dead letter waits to be tried again/)
    await until(async () => (await site.run(['dead-letter', 'show', id])).code === 0, 'the dead letter again')
    assert.match((await site.run(['dead-letter', 'drop', id])).out, /1 dead letter dropped/)
    assert.equal((await site.run(['dead-letter', 'drop', id])).code, 1)

    await site.run(['dead-letter', 'drop', '--all'])
    await site.run(['message', 'cli', 'bad'])
    const many = ['dead-letter', 'drop', '--route', 'bad', '--error', 'i FAIL']
    assert.match((await site.run(many)).err, /1 dead letter matches\. Add --all/)
    await site.run(['message', 'cli', 'bad'])
    assert.match(
      (await site.run(['dead-letter', 'groups', '--route', 'bad'])).out,
      /\n2 +dispatch +bad .*I fail/,
    )
    const asked = await site.run(many)
    assert.deepEqual([asked.code, asked.err.includes('2 dead letters match. Add --all')], [2, true])
    assert.match((await site.run([...many.with(-1, 'else'), '--all'])).out, /^0 dead letters dropped/)
    assert.match((await site.run([...many, '--all'])).out, /^2 dead letters dropped/)
  })

  test('history shows the beginning of a long text', async () => {
    await site.run(['message', 'cli', `long ${'x'.repeat(3_000)}`])
    const { out } = await site.run(['history', '--grep', 'long', '--limit', '1'])
    assert.match(out, /long x{100}/)
    assert.match(out, /characters omitted/)
  })

  test('history says what is wrong with a pattern, and shows none where none is asked for', async () => {
    for (const args of [
      ['--grep', '/(/'],
      ['--channel', '['],
    ]) {
      const { code, err } = await site.run(['history', ...args])
      assert.deepEqual([code, /inside Trivium/.test(err)], [2, false], err)
      assert.match(err, new RegExp(`${args[0]}: the pattern`))
    }
    assert.deepEqual(await site.run(['history', '--grep', '[', '--limit', '0']), {
      code: 0,
      out: '',
      err: '',
    })
    assert.equal((await site.run(['history', '--limit', '0'])).out, '')
    assert.equal((await site.run(['tail', '--max', '0'])).code, 0)
  })

  test('message tells each failed attempt while it waits', async () => {
    const { code, err } = await site.run(['message', 'cli', 'slow one'])
    assert.equal(code, 1)
    assert.match(err, /^failed, attempt 1: .*I fail \(again in [\d.]+ s\)\n$/)
  })

  test('route explain says of each route why', async () => {
    const { id } = await json('message', 'cli', 'hello')
    const { out, code } = await site.run(['route', 'explain', id])
    assert.equal(code, 0)
    assert.match(out, /rest +answers[\s\S]*bad +no +✗ text/)
    const draft = await site.run(['message', 'cli', 'hello', '--explain'])
    assert.equal(draft.out, out)
    const { messages } = await json('message', 'list')
    assert.equal(messages[0].id, id, 'nothing was accepted')
    assert.match((await site.run(['message', 'cly', 'x', '--explain'])).err, /cli/)
  })

  test('a skill takes its required arguments by position, in the order of its schema, or by flag', async () => {
    await json('event-subscribe', 'jobs', '--queue', 'q')
    const { id } = await json('event-emit', 'jobs', '--data', '{"n":1}')
    const peek = ['event-wait', 'jobs', '--queue', 'q', '--no-ack', '--timeout', '0']
    assert.deepEqual((await json(...peek))[0].data, { n: 1 })
    const second = await json('event-emit', '--topic', 'jobs', '--args', '{"data":{"n":2}}')
    assert.deepEqual(await json('event-ack', 'jobs', 'q', id, second.id), { count: 2 })
    const third = await json('event-emit', 'jobs')
    assert.deepEqual(await json('event-ack', 'jobs', '--queue', 'q', third.id), { count: 1 })
    const tooMany = await site.run(['event-emit', 'jobs', 'and', 'more'])
    assert.equal(tooMany.code, 2)
    assert.match(tooMany.err, /"and" belongs to no argument/)
  })

  test('a wait that ends with nothing exits with 4, and prints JSON all the same', async () => {
    for (const [args, out] of [
      [['event-wait', 'never', '--timeout', '10'], '[]\n'],
      [['gateway-receive', '--conversation', 'none', '--timeout', '10'], 'null\n'],
    ] as const) {
      assert.deepEqual(await site.run([...args, '--json']), { code: 4, out, err: '' })
    }
  })

  test('times are milliseconds or durations, and an error says so', async () => {
    const wait = ['gateway-receive', '--conversation', 'none', '--timeout', '5ms']
    for (const lease of ['5s', '1h30m', '5000'])
      assert.deepEqual(await site.run([...wait, '--lease', lease, '--json']), {
        code: 4,
        out: 'null\n',
        err: '',
      })
    for (const [lease, error] of [
      ['soon', /--lease takes milliseconds, or a duration such as 500ms, 30s or 5m, not "soon"/],
      ['90d', /at most 24 days/],
    ] as const) {
      const { code, err } = await site.run([...wait, '--lease', lease])
      assert.equal(code, 2)
      assert.match(err, error)
    }
    const { err } = await site.run(['event-wait', 'jobs', '--max', '5s'])
    assert.match(err, /--max takes integer, not "5s"/)
  })

  test('the help names every command, wherever it is asked for', async () => {
    const { out } = await site.run(['help'])
    assert.match(out, /status[\s\S]*dead-letter[\s\S]*workbench/)
    const asked = [[], ['--help', 'status'], ['--json', '-h']].map((args) => site.run(args))
    for (const { out: text, err } of await Promise.all(asked)) assert.equal(text + err, out)
    assert.match((await site.run(['status', '--help'])).out, /Usage: trivium status/)
    assert.match((await site.run(['help', 'status'])).out, /Usage: trivium status/)
    assert.match((await site.run(['--version'])).out, /^\d+\.\d+\.\d+\n$/)
  })

  test('every command is a noun and a verb; the older spellings work and say the new one', async () => {
    const spoken = ['event', 'wait', 'grammar', '--timeout', '1', '--json']
    assert.deepEqual(await site.run(spoken), { code: 4, out: '[]\n', err: '' })
    const older = await site.run(['event-wait', 'grammar', '--timeout', '1'])
    assert.equal(older.code, 4)
    assert.match(older.err, /trivium event-wait is now called: trivium event wait/)
    const renamed = await site.run(['dead-letters', 'list'])
    assert.deepEqual([renamed.code, /now called: trivium dead-letter/.test(renamed.err)], [0, true])
    assert.equal((await site.run(['dead-letters', 'list', '--json'])).err, '', 'programs are told nothing')
    for (const [old, now] of [
      ['routes check', 'route'],
      ['routes', 'route check'],
      ['refused --gateway demo', 'refusal list'],
      ['troubles', 'trouble list'],
      ['shards --help', 'store grow'],
    ] as const) {
      const { code, out, err } = await site.run(old.split(' '))
      const same = await site.run([...now.split(' '), ...old.split(' ').slice(1)])
      assert.match(err, new RegExp(`\\(trivium ${old.split(' ')[0]} is now called: trivium ${now}\\)`))
      assert.deepEqual([code, out.split('\n')[0]], [same.code, same.out.split('\n')[0]])
    }
    assert.match((await site.run(['route'])).out, /^route +answers[\s\S]*rest +skill echo/)
    assert.match((await site.run(['trouble', '--json'])).out, /^\{"at":/)
    assert.match((await site.run(['cost'])).out, /^No model was used/)
    // What a group of commands lacks is a skill.
    await site.run(['state', 'set', 'grammar', '{"a":1}'])
    assert.deepEqual(JSON.parse((await site.run(['state', 'get', 'grammar', '--json'])).out), { a: 1 })
    const group = await site.run(['gateway'])
    assert.match(group.out, /Usage: trivium gateway <verb>[\s\S]*receive +Takes the oldest/)
    const unknown = await site.run(['gateway', 'receiv'])
    assert.deepEqual([unknown.code, /gateway has no receiv/.test(unknown.err)], [2, true])
    const mistyped = await site.run(['dead-letter', 'retri', 'x'])
    assert.match(mistyped.err, /dead-letter has no retri\. Did you mean retry\?/)
  })

  test('what is wrong with a command line exits with 2 and says what', async () => {
    const wrong = [
      [['strat'], /no command and no skill strat.*Did you mean start/],
      [['event-wiat'], /Did you mean event-wait/],
      [['event-wait'], /topic/],
      [['event-wait', 'x', '--timeout', 'soon'], /--timeout is a integer|--timeout/],
      [['event-wait', 'x', '--frob'], /unknown option '--frob'/],
      [['event-wait', 'x', '--args', '{half'], /--args is a JSON object/],
      [['event-wait', 'x', '--follow', '--no-ack'], /--no-ack/],
      [
        ['conversation-pause', '--gateway', 'cli', '--conversation', 'c', '--for', 'soon'],
        /for: expected a duration/,
      ],
      [['schedule-create', 'event-emit', '--cron', '0 8 * * 1-5'], /topic is missing/],
      [['schedule', 'create', 'event-emit', '--cron', '0 8 * * 1-5', '--args', '{"topic":5}'], /topic/],
      [['send', 'list', '--limit', '0'], /limit: expected at least 1/],
      [['status', '--frob'], /unknown option '--frob'/],
      [['message', 'cli'], /missing required argument/],
      [['message', 'cli', 'x', '--wait', 'abc'], /--wait must be a whole number/],
      [['dead-letter', 'list', '--limit', '-1'], /--limit/],
      [['route', 'explain', 'no-such-file.json'], /There is no message and no file no-such-file/],
    ] as const
    await Promise.all(
      wrong.map(async ([args, why]) => {
        const { code, out, err } = await site.run(args)
        assert.deepEqual([code, out], [2, ''], `${args.join(' ')}: ${err}`)
        assert.match(err, why)
      }),
    )
  })

  test('event-wait --follow prints a line an event, and ends at once and cleanly when interrupted', async () => {
    const child = spawn(process.execPath, [BIN, 'event-wait', 'live', '--follow'], {
      cwd: site.dir,
      env: { PATH: process.env.PATH ?? '', HOME: site.dir },
    })
    let out = ''
    child.stdout.on('data', (chunk) => {
      out += chunk
    })
    const groups = async () => JSON.stringify(Object(await daemon.get('/v1/status')).result.groups)
    await until(async () => (await groups()).includes('follow-'), 'its consumer group')
    for (const n of [1, 2]) await daemon.invoke('event-emit', { topic: 'live', data: n })
    await until(() => out.split('\n').length === 3, 'two lines')
    const lines = out.trim().split('\n')
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).data),
      [1, 2],
    )
    const exit = once(child, 'exit')
    const interrupted = performance.now()
    child.kill('SIGINT')
    assert.deepEqual(await exit, [0, null])
    // It does not wait for its last round.
    await assertPrompt('the interruption', performance.now() - interrupted, 5_000)
    assert.doesNotMatch(await groups(), /follow-/)
  })

  test('event-wait --follow with --match prints only what fits, and leaves a group with another filter alone', async () => {
    const groups = async () => JSON.stringify(Object(await daemon.get('/v1/status')).result.groups)
    const match = ['--match', '{"gateway":"demo"}']
    for (const [queue, name] of [
      [[], 'follow-'],
      [['--queue', 'demos'], 'demos'],
    ] as const) {
      const child = spawn(
        process.execPath,
        [BIN, 'event-wait', 'gateway-message', ...match, '--follow', ...queue],
        { cwd: site.dir, env: { PATH: process.env.PATH ?? '', HOME: site.dir } },
      )
      let out = ''
      let err = ''
      child.stdout.on('data', (chunk) => {
        out += chunk
      })
      child.stderr.on('data', (chunk) => {
        err += chunk
      })
      await until(async () => {
        assert.equal(child.exitCode, null, err)
        return (await groups()).includes(name)
      }, 'its consumer group')
      await site.run(['message', 'cli', 'not for it'])
      await fetch(`${daemon.url}/hooks/demo`, { method: 'POST', body: 'for it' })
      await until(() => out.includes('\n'), 'a line')
      assert.deepEqual(
        out
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line).source),
        ['demo'],
      )
      const exit = once(child, 'exit')
      child.kill('SIGINT')
      assert.deepEqual(await exit, [0, null], err)
      assert.equal((await groups()).includes(name), queue.length > 0)
    }
    const other = ['event-wait', 'gateway-message', '--match', '{"gateway":"cli"}', '--follow']
    const refused = await site.run([...other, '--queue', 'demos'])
    assert.match(refused.err, /another filter/)
    const wait = ['event-wait', 'gateway-message', ...match, '--queue', 'demos', '--timeout', '0']
    assert.equal((await site.run(wait)).code, 4, 'its filter is the old one')
  })

  test('a second daemon in the data dir is refused with 2, and says who is there', async () => {
    const { code, err } = await site.run(['start'])
    assert.equal(code, 2)
    assert.match(err, new RegExp(`in use by process ${daemon.pid}`))
    assert.ok(existsSync(join(site.dir, '.trivium', 'daemon.json')))
  })
})

describe('trivium, without a daemon', { timeout: 300_000 }, () => {
  const site = openSite({ routes: ROUTES, skills: SKILLS })

  test('exits with 3 where a daemon is needed, and with 2 for what is no command at all', async () => {
    const commands = [['event-emit', 'x'], ['reload'], ['mcp'], ['echo']]
    await Promise.all(
      commands.map(async (args) => {
        const { code, err, out } = await site.run(args)
        assert.deepEqual([code, out], [3, ''], args.join(' '))
        assert.match(err, /trivium start/)
      }),
    )
    assert.equal((await site.run(['strat'])).code, 2)
    for (const args of [['--json'], ['email', '--json']]) {
      const { code, err } = await site.run(args)
      assert.deepEqual([code, /a command is missing/.test(JSON.parse(err).error.message)], [2, true], err)
    }
  })

  test('shows the flags of a skill all the same', async () => {
    const { code, out } = await site.run(['event-wait', '--help'])
    assert.equal(code, 0)
    assert.match(out, /--topic <text>[\s\S]*\(required\)/)
  })

  test('sends a message through a store of its own', async () => {
    const { code, out } = await site.run(['message', 'cli', 'hello'])
    assert.deepEqual([code, out], [0, 'You said: hello\n'])
  })

  test('prints all of it to who reads slowly, such as a pager', async () => {
    const piped = `"${process.execPath}" "${BIN}" config schema | (sleep 3; wc -c)`
    const child = spawn('sh', ['-c', piped], { cwd: site.dir })
    const read = Number(await text(child.stdout))
    assert.equal(read, Buffer.byteLength((await site.run(['config', 'schema'])).out))
  })

  test('looks at messages without starting a skill or sending anything', async () => {
    const { out } = await site.run(['message', 'cli', 'bad', '--json'])
    const { id } = JSON.parse(out)
    assert.equal((await site.run(['dead-letter', 'retry', id])).code, 0)
    await site.run(['status'])
    const { history } = JSON.parse((await site.run(['message', 'show', id, '--json'])).out)
    assert.equal(history.filter(({ what }: { what: string }) => what === 'dead').length, 1)
  })

  test('takes no notice of a daemon.json that nobody stands behind, or that is no JSON', async () => {
    const gone = '{"pid":2147483646,"listen":"a","control":"b","store":"c","startedAt":1}'
    for (const content of ['{half', '{}', gone]) {
      site.write('.trivium/daemon.json', content)
      const { code, out } = await site.run(['status', '--json'])
      assert.deepEqual([code, JSON.parse(out).running], [0, false], content)
    }
  })

  test('gives its token to nobody who has taken the port of a daemon that is gone', async (t) => {
    const given: unknown[] = []
    const { port, close } = await serveHttp((request, response) => {
      given.push(request.headers.authorization, request.url?.includes('token'))
      response.end('{"result":"guessed"}')
    })
    t.after(close)
    site.write('.trivium/control-token', 'a-token-that-was-made-once')
    // In a container every daemon has this id.
    const file = { pid: 1, listen: 'a', control: `127.0.0.1:${port}`, store: 'embedded', startedAt: 1 }
    site.write('.trivium/daemon.json', JSON.stringify(file))
    assert.deepEqual((await site.run(['message', 'cli', 'hello'])).out, 'You said: hello\n')
    assert.deepEqual(given, [undefined, false])
    const taken = await site.run(['start'], { TRIVIUM_LISTEN: `127.0.0.1:${port}` })
    assert.deepEqual([taken.code, /EADDRINUSE.*TRIVIUM_LISTEN/.test(taken.err)], [1, true])
  })

  test('says what is wrong with routes.yaml and ends, although the store was open by then', async () => {
    site.write('broken.yaml', 'routes:\n  - name: a\n    skill: nope\n')
    for (const args of [['start'], ['message', 'cli', 'x'], ['route', 'check']]) {
      const { code, err, out } = await site.run([...args, '--config', 'broken.yaml'])
      assert.equal(code, 2, args.join(' '))
      assert.match(err + out, /broken\.yaml:3:12[\s\S]*no skill "nope"/)
    }
  })

  test('finds a daemon whose configuration is elsewhere, also while that is broken', async () => {
    const elsewhere = openSite({ routes: '', env: { TRIVIUM_CONFIG: 'conf/routes.yaml' } })
    elsewhere.write('conf/routes.yaml', ROUTES.replaceAll('fail', 'echo'))
    await elsewhere.start()
    elsewhere.write('conf/routes.yaml', 'routes: [')
    const { code, out, err } = await elsewhere.run(['status', '--json'])
    assert.equal(code, 0, err)
    assert.equal(JSON.parse(out).running, true)
  })

  test('finds a daemon whose token was given only with that token', async () => {
    const env = { TRIVIUM_DATA_DIR: 'other' }
    const token = { TRIVIUM_TOKEN: 'given-token-given-token' }
    // The fixture reads the file; this daemon, whose token was given, does not write it.
    site.write('other/control-token', token.TRIVIUM_TOKEN)
    const daemon = await site.start({ ...env, ...token })
    rmSync(join(site.dir, 'other', 'control-token'))
    const without = await site.run(['status'], env)
    assert.equal(without.code, 1)
    assert.match(without.err, /TRIVIUM_TOKEN/)
    site.write('other/control-token', 'one-from-before-it-was-given')
    assert.equal((await site.run(['echo', 'hello'], env)).code, 1)
    const given = await site.run(['status', '--json'], { ...env, ...token })
    assert.equal(JSON.parse(given.out).running, true)
    await daemon.end()
  })
})
