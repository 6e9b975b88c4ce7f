import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openSite, type Site } from '../fixtures/daemon.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  chat: { transport: websocket, path: /chat, open: true, tokens: { ada: "ada's long token", bob: "bob's long token" } }
  open: { transport: websocket, path: /open }
routes:
  - { name: rest, skill: echo }
`

const SKILLS = {
  deploy: `import { appendFileSync } from 'node:fs'
export default { description: 'deploys', run({ args }) {
  appendFileSync('deployed', args.text + '\\n')
  return 'deployed ' + args.text
} }`,
  late: `export default { description: 'waits for an approval in vain', metadata: { approval: { timeout: '300ms' } }, run() {} }`,
}

const fileOf = (site: Site, name: string) => join(site.dir, '.trivium', name)
const json = (site: Site, name: string) => JSON.parse(readFileSync(fileOf(site, name), 'utf8'))
const lines = (site: Site, name: string) =>
  readFileSync(fileOf(site, name), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

async function say(site: Site, text: string): Promise<string> {
  const { code, out, err } = await site.run(['message', 'cli', text])
  assert.equal(code, 0, err)
  return out.trim()
}

describe('the assistant on the command line, with no daemon and no configuration', {
  timeout: 300_000,
}, async () => {
  const site = openSite({ routes: ROUTES })

  test('`status` creates an empty state', async () => {
    const { code, out } = await site.run(['status', '--json'])
    assert.equal(code, 0)
    const empty = { memory: [], searches: [], delegations: [], schedules: [] }
    assert.partialDeepStrictEqual(json(site, 'state.json'), { assistant_name: 'trivium', ...empty })
    const { assistant, registry } = JSON.parse(out)
    assert.equal(assistant.memory, 0)
    const entry = registry.find(({ name }: { name: string }) => name === 'remember-note')
    assert.ok(entry.prefixes.includes('remember'))
  })

  test('`remember` stores a note in state.json, the transcript and the trace, and a repetition another one', async () => {
    const [text, channel] = ['persistent systems keep state', 'cli']
    const sentence = `remember ${text}`
    assert.equal(await say(site, sentence), 'Stored note memory-1.')
    const { memory, next_ids } = json(site, 'state.json')
    assert.partialDeepStrictEqual(
      { memory, next_ids },
      { memory: [{ id: 'memory-1', text, channel }], next_ids: { memory: 2 } },
    )
    assert.partialDeepStrictEqual(lines(site, 'messages.jsonl'), [
      { channel, role: 'user', content: sentence },
      { channel, role: 'assistant', content: 'Stored note memory-1.', meta: { skill: 'remember-note' } },
    ])
    const processed = lines(site, 'events.jsonl').find(({ event }) => event === 'message_processed')
    const run = { skill: 'remember-note', ok: true, approval_required: false }
    assert.partialDeepStrictEqual(processed, { channel, text: sentence, ...run })

    assert.equal(await say(site, sentence), 'Stored note memory-2.')
    assert.equal(json(site, 'state.json').memory.length, 2)
  })

  test('a later run can recall, search, delegate, summarize, schedule and forget', async () => {
    assert.match(await say(site, 'recall systems'), /^memory-1: persistent systems keep state\nmemory-2: /)
    assert.match(await say(site, 'search persist'), /memory-[12] \(cli\): persistent systems keep state/)
    assert.equal(await say(site, 'delegate to ada: check the invoices'), 'Delegated delegation-1 to ada.')
    assert.equal(await say(site, 'delegate to echo: Ada'), 'delegation-2 (echo): You said: Ada')
    const digest = await say(site, 'digest of the week')
    assert.match(digest, /^Since .*: 4 messages, 4 answers, 2 new notes, 1 piece of open work\.$/m)
    assert.match(digest, /^- cli cli: delegate to ada: check the invoices \(\+1\)$/m)
    assert.match(
      await say(site, 'schedule every weekday at 9 in Europe/Berlin: digest'),
      /^schedule-1: digest, every weekday at 9 in Europe\/Berlin\. Next: .* 09:00 \(Europe\/Berlin\)\.$/,
    )
    assert.match(
      await say(site, 'remind me tomorrow at 10 to call Ada'),
      /^schedule-2: I say "call Ada", tomorrow at 10/,
    )
    assert.match(await say(site, 'schedule list'), /^schedule-1: digest, .*\nschedule-2: call Ada, /)
    assert.match(await say(site, 'schedule 1'), /To end a schedule: cancel schedule-1/)
    assert.match(await say(site, 'schedule list'), /^schedule-1: digest, /)
    assert.equal(await say(site, 'cancel schedule-1'), 'Cancelled schedule-1.')
    assert.equal(await say(site, 'forget memory-2'), 'Forgot memory-2: persistent systems keep state')
    assert.partialDeepStrictEqual(json(site, 'state.json'), {
      searches: [{ query: 'persist' }],
      delegations: [
        { worker: 'ada', task: 'check the invoices', status: 'queued' },
        { worker: 'echo', task: 'Ada', status: 'done', result: 'You said: Ada' },
      ],
      schedules: [{ skill: 'remind', args: { text: 'call Ada' } }],
    })
    const { out } = await site.run(['status'])
    assert.match(out, /memory 1, searches 1, delegations 1 queued \+ 1 done, schedules 1, approvals 0/)
  })

  test('a text that begins with no word of the assistant goes to the route', async () => {
    assert.equal(await say(site, 'remembering is not remember'), 'You said: remembering is not remember')
  })

  test('a delegated task that begins with a URL or a time of day waits for any worker', async () => {
    for (const task of ['https://example.com/i/1 fix it', '10:30 call Bob']) {
      assert.match(await say(site, `delegate ${task}`), /^Delegated delegation-\d+ to worker\.$/)
      assert.partialDeepStrictEqual(json(site, 'state.json').delegations.at(-1), { worker: 'worker', task })
    }
  })

  test('a mistake is answered with advice', async () => {
    for (const [sentence, answer] of [
      ['remember', /^Say what to remember/],
      ['search', /^Say what to search for/],
      ['forget', /^Say which note/],
      ['forget memory-99', /no memory-99/],
      ['delegate', /^Say who should do what/],
      ['schedule frobnicate', /contains no time/],
      ['schedule every day at 25 digest', /a day has 24 hours/],
      ['schedule tomorrow', /Say what to do tomorrow/],
      ['schedule every day schedule every day digest', /cannot create schedules/],
      ['cancel schedule-99', /no schedule-99/],
      ['cancel schedule 99', /no schedule-99/],
      ['schedule cancel 99', /no schedule-99/],
      // Not a cancellation: a forgotten time must not end a schedule.
      ['schedule 2', /contains no time. To end a schedule: cancel schedule-2/],
      ['schedule-2', /contains no time. To end a schedule: cancel schedule-2/],
      ['done delegation-99: all of it', /no delegation-99/],
    ] as const)
      assert.match(await say(site, sentence), answer)
  })

  test('`history` searches the transcript and the events', async () => {
    const missing = await site.run(['history', '--grep', 'bread', '--json'])
    assert.equal(missing.out, '')
    const { out } = await site.run(['history', '--channel', 'cli', '--grep', 'forgot'])
    assert.match(out, /\tcli\t.*\tForgot memory-2/)
    const events = await site.run(['history', '--events', '--grep', 'work_delegated', '--json'])
    assert.equal(JSON.parse(events.out.split('\n')[0] ?? '').worker, 'ada')
  })

  test('a deleted state.json is created again', async () => {
    rmSync(fileOf(site, 'state.json'))
    assert.match(await say(site, 'remember the milk'), /^Stored note memory-\d+\.$/)
    const { memory } = json(site, 'state.json')
    assert.equal(memory.length, 1)
    assert.equal(memory[0].text, 'the milk')
  })
})

describe('the assistant in a running daemon', { timeout: 300_000 }, async () => {
  const site = openSite({ ownProcess: true, routes: ROUTES, skills: SKILLS })
  let daemon = await site.start()

  test('gives the same answers, and its skills are commands', async () => {
    assert.equal(await say(site, 'remember the milk'), 'Stored note memory-1.')
    const { code, out } = await site.run(['remember', '--text', 'the bread', '--json'])
    assert.equal(code, 0)
    assert.equal(JSON.parse(out).note.id, 'memory-2')
    assert.match(await say(site, 'recall'), /memory-1: the milk\nmemory-2: the bread/)
  })

  test('keeps the notes of an unknown sender separate', async () => {
    const { ask: unknown } = await daemon.chat('/open')
    assert.equal(await unknown('remember the tea'), 'Stored note memory-3.')
    assert.equal(await unknown('recall'), 'memory-3: the tea')
    assert.match(await unknown('search milk tea'), /^Nothing was found/)
    assert.match(await unknown('search tea'), /^memory-3 /)
    assert.match(await unknown('forget memory-1'), /no memory-1/)
    assert.match(await unknown('delegate ada: dig'), /^You said/)
    const help = await unknown('help')
    assert.match(help, /"remember the milk"/)
    assert.doesNotMatch(help, /delegate|schedule/)
    const { ask: other } = await daemon.chat('/open')
    assert.equal(await other('recall tea'), 'No note contains "tea".')
    assert.equal(await unknown('forget memory-3'), 'Forgot memory-3: the tea')
  })

  test('keeps the notes and conversations of people separate, until `scope: team` shares notes', async () => {
    const open = async (name: string) =>
      (await daemon.chat(`/chat?token=${encodeURIComponent(`${name}'s long token`)}`)).ask
    const [ada, bob] = [await open('ada'), await open('bob')]
    assert.equal(await ada('remember zanzibar by boat'), 'Stored note memory-4.')
    assert.match(
      await ada('search zanzibar'),
      /^memory-4 .*boat\n.* user \(chat\): remember zanzibar by boat$/,
    )
    // A search is known as one once its answer is in the transcript.
    await until(
      async () => /^memory-4 .*boat\n.*: remember zanzibar by boat$/.test(await ada('search zanzi')),
      'a result without earlier searches and their answers',
    )
    assert.equal(await bob('search zanzibar'), 'Nothing was found for "zanzibar".')
    assert.equal(await bob('recall zanzibar'), 'No note contains "zanzibar".')
    assert.match(await bob('forget memory-4'), /no memory-4/)
    assert.match(await say(site, 'search boat'), /memory-4 \(chat\)/)

    site.write('routes.yaml', `${ROUTES}assistant: { scope: team }\n`)
    assert.equal((await site.run(['reload'])).code, 0)
    assert.equal(await bob('recall zanzibar'), 'memory-4: zanzibar by boat')
    assert.match(await bob('forget memory-4'), /no memory-4/)
    assert.match(await ada('forget memory-4'), /^Forgot memory-4/)
  })

  test('delegates to a person, and sends results and scheduled texts to the requester', async () => {
    const open = (name: string) => daemon.chat(`/chat?token=${encodeURIComponent(`${name}'s long token`)}`)
    const [ada, bob] = [await open('ada'), await open('bob')]
    await bob.ask('hello')
    const nextText = async (chat: typeof ada) => String((await chat.next('message')).text)
    const [, id] =
      /^Asked chat:bob \((delegation-\d+)\)/.exec(await ada.ask('delegate to bob: count the stars')) ?? []
    assert.match(await nextText(bob), new RegExp(`^chat:ada asks you \\(${id}\\): count the stars\n`))
    assert.match(await ada.ask(`done ${id?.replace(/\d+/, '999')}: x`), /no delegation-999/)
    assert.equal(
      await bob.ask(`done ${id}: six thousand`),
      `Recorded the result of ${id} and sent it to the requester.`,
    )
    assert.equal(await nextText(ada), `${id} (chat:bob): six thousand`)
    assert.match(await bob.ask(`done ${id}: seven`), /is already done/)

    assert.match(
      await bob.ask('delegate to deploy: v9'),
      /^Delegated delegation-\d+ to deploy\.$/,
      'no route has this skill',
    )
    assert.match(await bob.ask('schedule in 1 year deploy v9'), /^schedule-1: I say "deploy v9"/)
    assert.equal(await bob.ask('cancel schedule-1'), 'Cancelled schedule-1.')
    assert.match(await bob.ask('delegate to echo: hi'), /\(echo\): You said: hi$/)
    assert.match(
      await ada.ask('schedule in 1 second: the tea is ready'),
      /^schedule-\d+: I say "the tea is ready"/,
    )
    assert.equal(await nextText(ada), 'the tea is ready')
    assert.match(await ada.ask('schedule in 1 second digest'), /^schedule-\d+: digest, in 1 second/)
    assert.match(await nextText(ada), /^Since .*\d messages?/)
    assert.match(await ada.ask('schedule in 1 second forget memory-999'), /^schedule-\d+: forget memory-999/)
    assert.match(await nextText(ada), /^forget memory-999, in 1 second \(schedule-\d+\) failed: .*memory-999/)
    assert.match(await bob.ask('schedule list'), /^Nothing is planned/)
  })

  test('gives a delegated task to one worker, and accepts its result once', async () => {
    await say(site, 'delegate carl: check the invoices')
    const taken = Object(await daemon.invoke('delegation-take', { worker: 'carl', by: 'ada-1' }))
    assert.deepEqual([taken.task, taken.status, taken.takenBy], ['check the invoices', 'working', 'ada-1'])
    assert.equal(await daemon.invoke('delegation-take', { worker: 'carl' }), null)
    const done = Object(await daemon.invoke('delegation-accept', { id: taken.id, result: 'all paid' }))
    assert.deepEqual([done.status, done.result], ['done', 'all paid'])
    const repeated = Object(await daemon.invoke('delegation-accept', { id: taken.id, result: 'other' }))
    assert.equal(repeated.result, 'all paid')
    const accepted = lines(site, 'events.jsonl').filter(
      ({ event, id }) => event === 'result_accepted' && id === taken.id,
    )
    assert.equal(accepted.length, 1)
  })

  test('keeps a skill that needs an approval over a restart, and runs it once when it is approved', async () => {
    const entry = { name: 'deploying', prefixes: ['deploy'], ref: 'deploy', approval: true }
    site.write('skills/skills.json', JSON.stringify([entry]))
    await until(async () => {
      const { registry } = Object(await daemon.get('/v1/status').then((answer) => Object(answer).result))
      return registry.some(({ name }: { name: string }) => name === 'deploying')
    }, 'the entry')
    writeFileSync(join(site.dir, 'deployed'), '')

    const request = await until(async () => {
      const text = await say(site, 'deploy v7')
      return text.startsWith('You said') ? undefined : text
    }, 'the route of the entry')
    assert.match(request, /needs an approval/)
    const [pending] = Object(await daemon.invoke('approval-list', { status: 'pending' }))
    const required = lines(site, 'events.jsonl').filter(({ event }) => event === 'approval_required')
    assert.deepEqual(
      required.map(({ channel, approval, skill }) => [channel, approval, skill]),
      [['cli', pending.id, 'deploying']],
    )
    assert.equal(readFileSync(join(site.dir, 'deployed'), 'utf8'), '')

    await daemon.end('SIGKILL')
    daemon = await site.start()
    const other = await daemon.chat("/chat?token=ada's long token".replaceAll(' ', '%20'))
    assert.equal(await other.ask('yes'), 'You said: yes', 'there is no request in this conversation')
    const { ask } = await daemon.chat("/chat?token=bob's long token".replaceAll(' ', '%20'))
    assert.match(await ask('deploy v8'), /needs an approval: trivium/)
    assert.equal(await ask('yes'), 'You said: yes', 'the requester must not decide')
    assert.match(await say(site, 'approve ffffffff'), /^There is no pending approval ffffffff here/)
    assert.equal(
      await say(site, `approve ${pending.id.slice(0, 6)}`),
      'Approved: Run deploying: "deploy …": deploy',
    )
    assert.match(await say(site, 'yes'), /^You said/)
    await until(() => readFileSync(join(site.dir, 'deployed'), 'utf8'), 'the run of the approved skill')
    const reply = await until(
      () => lines(site, 'messages.jsonl').find(({ content }) => content === 'deployed v7'),
      'its reply in the transcript',
    )
    assert.equal(reply.role, 'assistant')
    assert.equal(readFileSync(join(site.dir, 'deployed'), 'utf8'), 'v7\n')
    const trace = lines(site, 'events.jsonl').filter(
      ({ event, approval }) => /^approval_/.test(event) && approval === pending.id,
    )
    assert.deepEqual(
      trace.map(({ event, status }) => [event, status]),
      [
        ['approval_required', undefined],
        ['approval_decided', 'approved'],
      ],
    )
    const asUser = lines(site, 'messages.jsonl').filter(({ content }) => content === 'deploy v7')
    assert.equal(asUser.length, 1, 'the message is in the transcript once')
  })

  test('records an expired approval in the trace', async () => {
    await assert.rejects(daemon.invoke('late'), /approval_denied/)
    const find = () => lines(site, 'events.jsonl').find(({ event }) => event === 'approval_expired')
    const { skill, status } = await until(find, 'the trace of the approval')
    assert.deepEqual([skill, status], ['late', 'expired'])
  })
})

test('old artifacts are deleted if no note, value, session, workbench file or call names them', {
  timeout: 300_000,
}, async () => {
  const site = openSite({ routes: ROUTES })
  /** Places that name an artifact. */
  const PLACES = ['in a note', 'in a value', 'in a session', 'in the workbench', 'in the result of a call']
  const paths = new Map<string, string>()
  for (const place of ['forgotten', ...PLACES, 'young']) {
    const sha256 = createHash('sha256').update(place).digest('hex')
    const path = `artifacts/${sha256.slice(0, 2)}/${sha256}`
    site.write(join('.trivium', path), place)
    paths.set(place, path)
  }
  const leftover = 'artifacts/incoming/body.1-1.tmp'
  site.write(join('.trivium', leftover), 'half')
  const call = { key: 'k', time: new Date().toISOString(), by: 'x', state: 'done' }
  const record = JSON.stringify({ ...call, result: paths.get('in the result of a call') })
  site.write('.trivium/pending_calls.jsonl', `${record}\n`)
  site.write('.trivium/sessions/deep/s.json', JSON.stringify([paths.get('in a session')]))
  site.write('workbench/notes.json', JSON.stringify([paths.get('in the workbench')]))
  await say(site, `remember the report is ${paths.get('in a note')}`)
  const first = await site.start()
  await first.invoke('state-set', { key: 'report', value: { path: paths.get('in a value') ?? '' } })
  await first.end()
  const old = Date.now() / 1000 - 60 * 86_400
  for (const [place, path] of [...paths, ['leftover', leftover] as const])
    if (place !== 'young') utimesSync(fileOf(site, path), old, old)

  const daemon = await site.start()
  const remaining = () =>
    [...paths].filter(([, path]) => existsSync(fileOf(site, path))).map(([place]) => place)
  // All but the forgotten one.
  await until(() => remaining().length <= PLACES.length + 1, 'the deletion')
  await daemon.end()
  assert.deepEqual(remaining(), [...PLACES, 'young'])
  assert.equal(existsSync(fileOf(site, leftover)), false)
})

test('daemons on one Redis share the notes, which begin with those of the first data directory', {
  timeout: 300_000,
}, async (t) => {
  const redis = await startRedisServer()
  const site = openSite({ routes: ROUTES })
  t.after(() => redis.stop())
  assert.equal(await say(site, 'remember the milk'), 'Stored note memory-1.')
  const one = await site.start({ REDIS_URL: redis.url })
  const two = await site.start({ REDIS_URL: redis.url, TRIVIUM_DATA_DIR: '.trivium-2' })
  const note = Object(await two.invoke('remember', { text: 'the bread' })).note
  assert.equal(note.id, 'memory-2')
  const { notes } = Object(await one.invoke('recall', {}))
  assert.deepEqual(
    notes.map(({ text }: { text: string }) => text),
    ['the milk', 'the bread'],
  )
  const shown = await site.run(['state', 'show', '--json'], { REDIS_URL: redis.url })
  assert.equal(JSON.parse(shown.out).document.memory.length, 2)
  for (const dir of ['.trivium', '.trivium-2']) {
    const copy = () => JSON.parse(readFileSync(join(site.dir, dir, 'state.json'), 'utf8')).memory.length
    await until(() => copy() === 2, `a copy of the state in ${dir}`)
  }
  await one.end()
  await two.end()
  assert.equal(
    await say(site, 'remember the tea'),
    'Stored note memory-3.',
    'without Redis, the notes are in the files again',
  )
})

test('an unreadable log of calls does not stop the copy of the state', async (t) => {
  const redis = await startRedisServer()
  t.after(() => redis.stop())
  const site = openSite({ routes: ROUTES })
  mkdirSync(fileOf(site, 'pending_calls.jsonl'), { recursive: true })
  const daemon = await site.start({ REDIS_URL: redis.url })
  t.after(() => daemon.end())
  assert.match(daemon.output(), /the records of calls could not be restored/)
  assert.doesNotMatch(daemon.output(), /the state of the assistant cannot be used/)
  await daemon.invoke('remember', { text: 'the milk' })
  const copied = () => existsSync(fileOf(site, 'state.json')) && json(site, 'state.json').memory.length === 1
  await until(copied, 'the copy of the state')
})

test('an unreadable state.json is reported, and not overwritten by the copy of the state', async (t) => {
  const redis = await startRedisServer()
  t.after(() => redis.stop())
  const site = openSite({ routes: ROUTES })
  mkdirSync(join(site.dir, '.trivium'))
  writeFileSync(fileOf(site, 'state.json'), '{ "memory": ')
  const daemon = await site.start({ REDIS_URL: redis.url })
  assert.match(daemon.output(), /the state of the assistant cannot be used/)
  // The daemon copies its state once more when it ends.
  await daemon.end()
  assert.equal(readFileSync(fileOf(site, 'state.json'), 'utf8'), '{ "memory": ')
})
