import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { bundledCommand } from '../../ops/tests/bundled-command.ts'
import { objectsIn } from '../../src/core/json.ts'
import { atTerminal, HAS_TERMINAL } from '../fixtures/at-terminal.ts'
import { openSite } from '../fixtures/daemon.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { assertPrompt } from '../fixtures/in-time.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  demo: { transport: webhook, path: /hooks/demo, verify: { scheme: none } }
  shop: { transport: webhook, path: /hooks/shop, verify: { scheme: none } }
routes:
  - name: bad
    match: { text: "bad" }
    skill: fail
    retry: { attempts: 1 }
  - { name: late, match: { text: "late*" }, skill: fail, retry: { attempts: 2, delay: 10m } }
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

  const messagesOfBusy = async () => objectsIn(await daemon.invoke('message-list', { conversation: 'busy' }))

  test('writes daemon.json, and the schema of routes.yaml for editors', async () => {
    const schema = join(site.dir, '.trivium', 'routes.schema.json')
    await until(() => existsSync(schema), 'the schema')
    assert.equal(readFileSync(schema, 'utf8'), (await site.run(['config', 'schema'])).out)

    const file = JSON.parse(readFileSync(join(site.dir, '.trivium', 'daemon.json'), 'utf8'))
    assert.deepEqual(Object.keys(file).sort(), ['config', 'control', 'listen', 'pid', 'startedAt', 'store'])
    assert.equal(file.pid, daemon.pid)
  })

  test('message prints the reply and nothing else, and exits with 1 if the skill fails', async () => {
    const answered = await site.run(['message', 'cli', 'hello', 'there'])
    assert.deepEqual([answered.code, answered.out], [0, 'You said: hello there\n'])
    const failed = await site.run(['message', 'cli', 'bad'])
    assert.equal(failed.code, 1)
    assert.match(failed.out, /It failed; see: `trivium dead-letter show/)
    const result = await json('message', 'cli', 'again', '--conversation', 'c', '--key', 'k')
    assert.partialDeepStrictEqual(result, { conversation: 'c', outcome: 'done', duplicate: false })
  })

  test('message refuses an unknown gateway, and suggests the command that was mistyped', async () => {
    const unknown = await site.run(['message', 'nobody', 'hello'])
    assert.equal(unknown.code, 1)
    assert.match(unknown.err, /no running gateway nobody.*cli/)
    const mistyped = await site.run(['message', 'shwo', 'x'])
    assert.equal(mistyped.code, 2)
    assert.match(mistyped.err, /`trivium message show`\?/)
    // Nothing was submitted, so only the first is in the audit log.
    const { entries } = await json('audit', 'list')
    const failed = objectsIn(entries).filter(({ status }) => status === 'failed')
    assert.deepEqual(
      failed.map(({ action, target }) => [action, Object(target).gateway]),
      [['message-submit', 'nobody']],
    )
  })

  test('message show prints the outcome, and escapes control characters of the message', async () => {
    const text = 'look\u001b[2J at\u009b1m me \u202ecod.exe'
    const { id } = await json('message', 'cli', text)
    const shown = await site.run(['message', 'show', id])
    assert.match(shown.out, /look\\u001b\[2J at\\u009b1m me \\u202ecod\.exe[\s\S]*dispatch\s+done/)
    assert.equal((await json('message', 'show', id)).message.text, text)
    const missing = await site.run(['message', 'show', '01a1fe02-9a5e-7000-8000-000b6b2d7e20', '--json'])
    assert.deepEqual([missing.code, missing.out], [1, ''])
    assert.equal(JSON.parse(missing.err).error.code, 'message_not_found')
  })

  test('message list selects messages by text, outcome and time, newest first', async () => {
    const { id } = await json('message', 'cli', 'look at me')
    const newest = await json('message', 'list', '--limit', '1')
    assert.equal(newest.messages.length, 1)
    assert.equal(newest.messages[0].id, id)
    // The command `message list` runs the skill `message-search` and adds the last attempt;
    // `message-list` is another skill.
    const [{ attempt, ...message }] = newest.messages
    assert.deepEqual(await json('message-search', '--limit', '1'), { ...newest, messages: [message] })
    assert.equal(attempt.outcome, 'done')
    assert.equal((await json('message-list', '--limit', '1'))[0].id, id)
    const filter = ['--text', 'LOOK AT ME', '--outcome', 'done,dead', '--since', '1h']
    const found = await json('message', 'list', ...filter)
    assert.deepEqual(
      found.messages.map((message: { id: string }) => message.id),
      [id],
    )
    assert.equal(found.next, undefined)
    const { messages } = await json('message', 'list', '--outcome', 'done', '--before', id)
    for (const message of messages) assert.ok(message.id < id && message.outcome === 'done')
    assert.match(
      (await site.run(['message', 'list'])).out,
      /^id\ttime\tgateway\tfrom\toutcome\troute\tevent\ttext\terror\n01\w/,
    )
    assert.match((await site.run(['message', 'list', '--outcome', 'lost'])).err, /outcome/)
  })

  test('dead-letter lists, shows, retries and drops single letters', async () => {
    const { id } = JSON.parse((await site.run(['message', 'cli', 'bad', '--json'])).out)
    assert.match(
      (await site.run(['dead-letter', 'list'])).out,
      new RegExp(`${id}\t.*dispatch\t.*bad\t.*I fail`),
    )
    assert.equal((await json('dead-letter', 'show', id)).errors.length, 1)
    assert.match((await site.run(['dead-letter', 'retry', id])).out, /It failed again: I fail/)
    await until(async () => (await site.run(['dead-letter', 'show', id])).code === 0, 'the dead letter again')
    const dry = await site.run(['dead-letter', 'drop', id, '--dry-run'])
    assert.deepEqual([dry.code, dry.out], [2, ''])
    assert.match(dry.err, /--dry-run shows what --all would touch/)
    const dropped = await site.run(['dead-letter', 'drop', id, '--reason', 'sent by hand'])
    assert.match(dropped.out, /1 dead letter dropped/)
    assert.match((await site.run(['audit', 'list', '--json'])).out, /"reason": ?"sent by hand"/)
    assert.equal((await site.run(['dead-letter', 'drop', id])).code, 1)
    assert.match((await site.run(['message', 'show', id])).out, / dropped +reason sent by hand, by .+$/m)
    const gone = await site.run(['dead-letter', 'show', id])
    assert.match(gone.err, /no dead letter \S+\. It was dropped by .+ at 20.* UTC: `trivium message show /)
    const short = await site.run(['dead-letter', 'show', id.slice(-8)])
    assert.match(short.err, /It was dropped by .+ at 20/)
  })

  test('dead-letter drops many letters only with --all, and says how many match without it', async () => {
    await site.run(['dead-letter', 'drop', '--all', '--yes'])
    await site.run(['message', 'cli', 'bad'])
    const many = ['dead-letter', 'drop', '--route', 'bad', '--error', 'i FAIL']
    assert.match((await site.run(many)).err, /1 dead letter matches\. Add --all/)
    await site.run(['message', 'cli', 'bad'])
    assert.match(
      (await site.run(['dead-letter', 'groups', '--route', 'bad'])).out,
      /\n2\s+dispatch\s+bad\s+skill_failed\s.*I fail/,
    )
    const withoutAll = await site.run(many)
    assert.equal(withoutAll.code, 2)
    assert.match(withoutAll.err, /2 dead letters match\. Add --all/)
    assert.match((await site.run([...many.with(-1, 'else'), '--all'])).out, /^0 dead letters dropped/)
    assert.match((await site.run([...many, '--all', '--dry-run'])).out, /\n2\tdispatch\tbad\t/)
    const why = ['--reason', 'too old']
    assert.match((await site.run([...many, '--all', '--yes', ...why])).out, /^2 dead letters dropped/)
  })

  test('dead-letter retry --all asks at a terminal, but not if none matches', {
    skip: !HAS_TERMINAL,
  }, async () => {
    await site.run(['message', 'cli', 'bad'])
    const retry = `'${process.execPath}' '${BIN}' dead-letter retry --all --error`
    const answering = { question: 'Retry all of these? (y/N)', answer: 'n', cwd: site.dir, env: process.env }
    const refused = await atTerminal(`${retry} 'i fail'`, answering)
    assert.match(
      refused.shown,
      /dispatch\s+bad\s[\s\S]*Retry all of these\? \(y\/N\)[\s\S]*\n0 dead letters retried\./,
    )
    const none = await atTerminal(`${retry} else`, answering)
    assert.match(none.shown, /^0 dead letters retried: none matches\.\s*$/)
    assert.match((await site.run(['dead-letter', 'drop', '--all', '--yes'])).out, /^1 dead letter dropped/)
  })

  test('history shows the beginning of a long text', async () => {
    await site.run(['message', 'cli', `long ${'x'.repeat(3_000)}`])
    const { out } = await site.run(['history', '--grep', 'long', '--limit', '1'])
    assert.match(out, /long x{100}/)
    assert.match(out, /characters omitted/)
  })

  test('history refuses an invalid pattern', async () => {
    for (const args of [
      ['--search', '/(/'],
      ['--channel', '['],
    ]) {
      const { code, err } = await site.run(['history', ...args])
      assert.equal(code, 2)
      assert.doesNotMatch(err, /inside Trivium/)
      assert.match(err, new RegExp(`${args[0]}: the pattern`))
    }
  })

  test('history and tail print nothing with a limit of 0', async () => {
    const nothing = { code: 0, out: '', err: '' }
    assert.deepEqual(await site.run(['history', '--grep', '[', '--limit', '0']), nothing)
    assert.equal((await site.run(['history', '--limit', '0'])).out, '')
    assert.equal((await site.run(['tail', '--max', '0'])).code, 0)
  })

  test('message reports each failed attempt while it waits', async () => {
    const { code, err } = await site.run(['message', 'cli', 'slow one'])
    assert.equal(code, 1)
    assert.match(err, /^failed, attempt 1: .*I fail \(again in [\d.]+ s\)\n$/)
  })

  test('message reports its own attempts, although its conversation has a newer message', async () => {
    const slow = site.run(['message', 'cli', 'slow', 'too', '--conversation', 'busy'])
    await until(async () => (await messagesOfBusy()).length === 1, 'the first message')
    await json('message', 'cli', 'hello', '--conversation', 'busy', '--wait', '0s')
    const { code, err } = await slow
    assert.equal(code, 1)
    assert.match(err, /^failed, attempt 1: .*I fail \(again in [\d.]+ s\)\n$/)
  })

  test('message with the key of an older message reports the attempts of that message', async () => {
    const { id } = await json('message', 'cli', 'late', '--key', 'old-key', '--wait', '0')
    const { code, err } = await site.run(['message', 'cli', 'late', '--key', 'old-key', '--wait', '6000'])
    assert.equal(code, 4)
    assert.match(err, /^failed, attempt 1: .*I fail \(again in [\d.]+ s\)\n$/)
    assert.equal((await json('message', 'cli', 'late', '--key', 'old-key', '--wait', '0')).id, id)
  })

  test('message --test marks the message in lists', async () => {
    const { id } = await json('message', 'cli', 'a test', '--test')
    assert.match((await site.run(['message', 'list', '--limit', '1'])).out, /\[test\] a test/)
    assert.equal((await json('message', 'list', '--limit', '1')).messages[0].test, true)
    assert.equal((await json('message', 'show', id)).message.data.replyTarget.test, true)
  })

  test('route explain says why each route answers or does not', async () => {
    const { id } = await json('message', 'cli', 'hello')
    const { out, code } = await site.run(['route', 'explain', id])
    assert.equal(code, 0)
    assert.match(out, /rest\s+answers[\s\S]*bad\s+no\s+✗ text/)
    const draft = await site.run(['message', 'cli', 'hello', '--explain'])
    assert.equal(draft.out, out)
    const { messages } = await json('message', 'list')
    assert.equal(messages[0].id, id, 'nothing was accepted')
    assert.match((await site.run(['message', 'cly', 'x', '--explain'])).err, /cli/)
  })

  test('a skill accepts its required arguments by position, in the order of its schema, or by flag', async () => {
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
    assert.match(tooMany.err, /"and" is one argument too many. Give it with its flag: --type, --data/)
  })

  test('a wait that finds nothing exits with 4, and still prints JSON', async () => {
    for (const [args, out] of [
      [['event-wait', 'never', '--timeout', '10'], '[]\n'],
      [['gateway-receive', '--conversation', 'none', '--timeout', '10'], 'null\n'],
    ] as const) {
      assert.deepEqual(await site.run([...args, '--json']), { code: 4, out, err: '' })
    }
  })

  test('times are accepted in milliseconds or as durations', async () => {
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
    assert.match(err, /--max takes a whole number, not "5s"/)
  })

  test('the help lists every command, also without a command and with --help first', async () => {
    const { out } = await site.run(['help'])
    assert.match(out, /status[\s\S]*dead-letter[\s\S]*workbench/)
    for (const args of [[], ['--help', 'status'], ['--json', '-h']]) {
      const { out: text, err } = await site.run(args)
      assert.equal(text + err, out)
    }
    assert.match((await site.run(['status', '--help'])).out, /Usage: trivium status/)
    assert.match((await site.run(['help', 'status'])).out, /Usage: trivium status/)
    assert.match((await site.run(['--version'])).out, /^\d+\.\d+\.\d+\n$/)
  })

  test('older spellings of a command work and name the new one', async () => {
    const current = ['event', 'wait', 'grammar', '--timeout', '1', '--json']
    assert.deepEqual(await site.run(current), { code: 4, out: '[]\n', err: '' })
    const older = await site.run(['event-wait', 'grammar', '--timeout', '1'])
    assert.equal(older.code, 4)
    assert.match(older.err, /trivium event-wait is now called: trivium event wait/)
    const renamed = await site.run(['dead-letters', 'list'])
    assert.equal(renamed.code, 0)
    assert.match(renamed.err, /now called: trivium dead-letter/)
    assert.equal((await site.run(['dead-letters', 'list', '--json'])).err, '', 'no hint for programs')
  })

  for (const [old, current, ...args] of [
    ['routes', 'route', 'check'],
    ['routes', 'route check'],
    ['refused', 'refusal list', '--gateway', 'demo'],
    ['troubles', 'trouble list'],
    ['shards', 'store grow', '--help'],
  ] as const)
    test(`the older command ${[old, ...args].join(' ')} does the same as ${current}`, async () => {
      const { code, out, err } = await site.run([old, ...args])
      const same = await site.run([...current.split(' '), ...args])
      assert.match(err, new RegExp(`\\(trivium ${old} is now called: trivium ${current}\\)`))
      assert.equal(code, same.code)
      const withoutAge = (text: string) => text.split('\n')[0]?.replace(/for \d+ (?:s|min)/, 'for …')
      assert.equal(withoutAge(out), withoutAge(same.out))
    })

  test('a noun alone is its list', async () => {
    assert.match((await site.run(['route'])).out, /^route\s+answers[\s\S]*rest\s+skill echo/)
    assert.match((await site.run(['trouble', '--json'])).out, /^\{"at":/)
    assert.match((await site.run(['cost'])).out, /^No model was used/)
    assert.match(
      (await site.run(['gateway'])).out,
      /^gateway\s+transport\s+last message\s+a minute\s+refused in 1 h\s+state\ndemo\s+webhook/,
    )
    assert.match((await site.run(['approval', '--status', 'pending'])).err, /^No approvals/)
    assert.match((await site.run(['message'])).out, /^id\ttime\tgateway/)
    assert.match((await site.run(['group'])).out, /consumer groups|^topic/)
    assert.match((await site.run(['error'])).out, /^code\s+HTTP\s+exit\s+meaning\n[\s\S]*\nusage\s+400\s+2\s/)
  })

  test('verbs of a noun are its commands and skills; an unknown verb is an error', async () => {
    await site.run(['state', 'set', 'grammar', '{"a":1}'])
    assert.deepEqual(JSON.parse((await site.run(['state', 'get', 'grammar', '--json'])).out), { a: 1 })
    const group = await site.run(['gateway', '--help'])
    assert.match(group.out, /Usage: trivium gateway <verb>[\s\S]*receive\s+takes the oldest/)
    const unknown = await site.run(['gateway', 'receiv'])
    assert.equal(unknown.code, 2)
    assert.match(unknown.err, /gateway has no receiv/)
  })

  for (const [noun, mistyped, verb, ...others] of [
    ['message', 'lst', 'list'],
    ['message', 'lst', 'list', '--limit', '3'],
    ['message', 'shwo', 'show', 'x'],
    ['dead-letter', 'retri', 'retry', 'x'],
    ['state', 'shw', 'show'],
    ['group', 'lst', 'list'],
    ['cost', 'shw', 'show'],
    ['error', 'shw', 'show', 'usage'],
    ['workbench', 'ad', 'add', 'title'],
  ] as const)
    test(`${[noun, mistyped, ...others].join(' ')} suggests ${noun} ${verb}, and nothing else`, async () => {
      const { code, out, err } = await site.run([noun, mistyped, ...others])
      assert.equal(code, 2)
      assert.equal(
        out + err,
        `trivium: ${noun} has no ${mistyped}. Did you mean \`trivium ${noun} ${verb}\`? \`trivium ${noun} --help\` lists what it has.\n`,
      )
    })

  test('a gateway whose name resembles a verb gets the message', async () => {
    assert.match((await site.run(['message', 'cli'])).err, /The argument text is missing\./)
    assert.match((await site.run(['message', 'shop'])).err, /The argument text is missing\./)
    assert.match((await site.run(['message', 'shop', 'hello'])).out, /You said: hello/)
  })

  test('an unknown name exits with 1, whatever it names', async () => {
    for (const line of [
      'gateway show nobody',
      'skill show nobody',
      'route pause nobody',
      'group show nobody',
      'schedule show nobody',
      'subscription show nobody',
      'message show 01a1fe02-9a5e-7000-8000-000b6b2d7e20',
      'dead-letter show 01a1fe02-9a5e-7000-8000-000b6b2d7e20',
      'message list --gateway nobody',
      'state show nobody',
      'route explain nobody',
      'route explain no-such-file.json',
      'mcp login nobody',
      'parts install nobody',
      'error show nobody',
      'error nobody',
    ]) {
      const { code, err } = await site.run(line.split(' '))
      assert.deepEqual([code, /^trivium: There is no /.test(err)], [1, true], `${line}: ${err}`)
    }
  })

  test('an invalid command line exits with 2 and the reason', async () => {
    const wrong = [
      [['strat'], /no command and no skill strat.*Did you mean start/],
      [['event-wiat'], /Did you mean `trivium event wait`/],
      [['event-wait'], /topic/],
      [['event-wait', 'x', '--timeout', 'soon'], /--timeout/],
      [
        ['event-wait', 'x', '--frob'],
        /^trivium: unknown option '--frob'\n`trivium event wait --help` lists/m,
      ],
      [['event-wait', 'x', '--args', '{half'], /--args is a JSON object/],
      [['event-wait', 'x', '--follow', '--no-ack'], /--no-ack/],
      [
        ['conversation-pause', '--gateway', 'cli', '--conversation', 'c', '--for', 'soon'],
        /for: expected a duration/,
      ],
      [['schedule-create', 'event-emit', '--cron', '0 8 * * 1-5'], /topic is missing/],
      [['schedule', 'create', 'event-emit', '--cron', '0 8 * * 1-5', '--args', '{"topic":5}'], /topic/],
      [['send', 'list', '--limit', '0'], /limit: expected at least 1/],
      [
        ['status', '--frob'],
        /^trivium: unknown option '--frob'\n`trivium status --help` lists the arguments and options\.\n$/,
      ],
      [['dead-letter', 'list', '--frob'], /`trivium dead-letter list --help` lists/],
      [['message', 'cli'], /^trivium: The argument text is missing\./],
      [['completion', 'tcsh'], /^trivium: shell: expected one of zsh, bash, fish, powershell, not tcsh\./],
      [['help', 'mesage'], /^trivium: There is no command and no skill mesage\. Did you mean message\?/],
      [['echo', '--text'], /^trivium: --text needs a value: --text <text>/],
      [
        ['restore', '--check', 'no.tgz'],
        /no\.tgz is not a complete backup: there is no such file \(ENOENT\)/,
      ],
      [['message', 'cli', 'x', '--wait', 'abc'], /--wait takes milliseconds, or a duration/],
      [['message', 'shop', 'x', '--wait', 'abc'], /--wait takes milliseconds, or a duration/],
      [['dead-letter', 'list', '--limit', '-1'], /--limit/],
    ] as const
    await Promise.all(
      wrong.map(async ([args, why]) => {
        const { code, out, err } = await site.run(args)
        assert.deepEqual([code, out], [2, ''], `${args.join(' ')}: ${err}`)
        assert.match(err, why)
      }),
    )
  })

  test('event-wait --follow prints a line per event, and removes its group when interrupted', async () => {
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
    // It does not wait for the end of its current request.
    await assertPrompt('the interruption', performance.now() - interrupted, 5_000)
    assert.doesNotMatch(await groups(), /follow-/)
  })

  test('event-wait --follow prints only events that --match selects, and keeps the filter of a named group', async () => {
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
      await site.run(['message', 'cli', 'of another gateway'])
      await fetch(`${daemon.url}/hooks/demo`, { method: 'POST', body: 'of the gateway' })
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
    assert.equal((await site.run(wait)).code, 4, 'the group has its old filter')
  })

  test('a second daemon with the same data directory exits with 2, and names the process of the first', async () => {
    const { code, err } = await site.run(['start'])
    assert.equal(code, 2)
    assert.match(err, new RegExp(`in use by process ${daemon.pid}`))
    assert.match(err.trimEnd().split('\n').at(-1) ?? '', /store_locked/, 'the last line names the code')
    assert.ok(existsSync(join(site.dir, '.trivium', 'daemon.json')))
  })
})

describe('trivium, without a daemon', { timeout: 300_000 }, () => {
  const site = openSite({ routes: ROUTES, skills: SKILLS })

  test('exits with 3 if a daemon is needed, and with 2 for an unknown or missing command', async () => {
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

  test('shows the flags of a skill', async () => {
    const { code, out } = await site.run(['event-wait', '--help'])
    assert.equal(code, 0)
    assert.match(out, /--topic <text>[\s\S]*\(the same\s+as <topic>\)/)
  })

  test('sends a message with a store that it opens itself', async () => {
    const { code, out } = await site.run(['message', 'cli', 'hello'])
    assert.deepEqual([code, out], [0, 'You said: hello\n'])
  })

  test('prints its complete output to a slow reader such as a pager', async () => {
    // The output is longer than a pipe holds, so that the command has to wait for its reader.
    const piped = `"${process.execPath}" "${BIN}" config schema | (sleep 1; wc -c)`
    const child = spawn('sh', ['-c', piped], { cwd: site.dir })
    const bytesRead = Number(await text(child.stdout))
    assert.equal(bytesRead, Buffer.byteLength((await site.run(['config', 'schema'])).out))
  })

  test('fails if its output cannot be written, but not if its reader needs no more', async () => {
    const schema = `"${process.execPath}" "${BIN}" config schema`
    const runInShell = async (line: string) => {
      const child = spawn('sh', ['-c', line], { cwd: site.dir })
      const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
      return { out, err }
    }
    const full = await runInShell(`${schema} > /dev/full; echo $?`)
    assert.equal(full.out.trim(), '1')
    assert.match(full.err, /output cannot be written: .*ENOSPC/)
    assert.equal((await runInShell(`(${schema}; echo $? >&2) | head -c 10`)).err.trim(), '0')
  })

  test('runs no skill while it only reads messages', async () => {
    const { out } = await site.run(['message', 'cli', 'bad', '--json'])
    const { id } = JSON.parse(out)
    assert.equal((await site.run(['dead-letter', 'retry', id])).code, 0)
    await site.run(['status'])
    const { history } = JSON.parse((await site.run(['message', 'show', id, '--json'])).out)
    assert.equal(history.filter(({ what }: { what: string }) => what === 'dead').length, 1)
  })

  test('ignores a daemon.json that is not valid, or whose process has ended', async () => {
    const ended = '{"pid":2147483646,"listen":"a","control":"b","store":"c","startedAt":1}'
    for (const content of ['{half', '{}', ended]) {
      site.write('.trivium/daemon.json', content)
      const { code, out } = await site.run(['status', '--json'])
      assert.deepEqual([code, JSON.parse(out).running], [0, false], content)
    }
  })

  test('does not send its token to another program on the port of a daemon that has ended', async (t) => {
    const requests: object[] = []
    const { port, close } = await serveHttp(({ headers, url }, response) => {
      requests.push({ authorization: headers.authorization, hasToken: url?.includes('token') })
      response.end('{"result":"guessed"}')
    })
    t.after(close)
    site.write('.trivium/control-token', 'a-token-that-was-made-once')
    // In a container, every daemon has the process id 1.
    const file = { pid: 1, listen: 'a', control: `127.0.0.1:${port}`, store: 'embedded', startedAt: 1 }
    site.write('.trivium/daemon.json', JSON.stringify(file))
    assert.equal((await site.run(['message', 'cli', 'hello'])).out, 'You said: hello\n')
    assert.deepEqual(requests, [{ authorization: undefined, hasToken: false }])
    const { code, err } = await site.run(['start'], { TRIVIUM_LISTEN: `127.0.0.1:${port}` })
    assert.equal(code, 1)
    assert.match(err, /EADDRINUSE.*TRIVIUM_LISTEN/)
  })

  test('exits with 2 and the place of a fault in routes.yaml', async () => {
    site.write('broken.yaml', 'routes:\n  - name: a\n    skill: nope\n')
    for (const args of [['start'], ['message', 'cli', 'x'], ['route', 'check']]) {
      const { code, err, out } = await site.run([...args, '--config', 'broken.yaml'])
      assert.equal(code, 2, args.join(' '))
      assert.match(err + out, /broken\.yaml:3:12[\s\S]*no skill "nope"/)
    }
  })

  test('finds a daemon whose configuration is elsewhere, also while that is invalid', async () => {
    const elsewhere = openSite({ routes: '', env: { TRIVIUM_CONFIG: 'conf/routes.yaml' } })
    elsewhere.write('conf/routes.yaml', ROUTES.replaceAll('fail', 'echo'))
    await elsewhere.start()
    elsewhere.write('conf/routes.yaml', 'routes: [')
    const { code, out, err } = await elsewhere.run(['status', '--json'])
    assert.equal(code, 0, err)
    assert.equal(JSON.parse(out).running, true)
  })

  test('needs the same TRIVIUM_TOKEN as a daemon that was started with one', async () => {
    const env = { TRIVIUM_DATA_DIR: 'other' }
    const token = { TRIVIUM_TOKEN: 'given-token-given-token' }
    // For the fixture: the daemon does not write its token, since it got it from a variable.
    site.write('other/control-token', token.TRIVIUM_TOKEN)
    const daemon = await site.start({ ...env, ...token })
    rmSync(join(site.dir, 'other', 'control-token'))
    const without = await site.run(['status'], env)
    assert.equal(without.code, 1)
    assert.match(without.err, /TRIVIUM_TOKEN/)
    site.write('other/control-token', 'one-from-before-it-was-given')
    assert.equal((await site.run(['echo', 'hello'], env)).code, 1)
    const wrong = await site.run(['echo', 'hello'], { ...env, TRIVIUM_TOKEN: 'another-token-another-token' })
    assert.match(wrong.err, /TRIVIUM_TOKEN is set to another one: unset it, or correct it\./)
    const given = await site.run(['status', '--json'], { ...env, ...token })
    assert.equal(JSON.parse(given.out).running, true)
    await daemon.end()
  })
})
