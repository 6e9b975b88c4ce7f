import assert from 'node:assert/strict'
import { test } from 'node:test'
import { entryOfLine, entryOfMessage } from '../../src/cli/history/entry.ts'
import { ENTRY_TITLES, entryRow } from '../../src/cli/history/entry-row.ts'
import { EVENT_TITLES, eventRow } from '../../src/cli/history/event-row.ts'
import type { HistoryFilter } from '../../src/cli/history/filter.ts'
import { followHistory } from '../../src/cli/history/follow-history.ts'
import { createLines } from '../../src/cli/history/lines.ts'
import { createNewest } from '../../src/cli/history/newest.ts'
import { readHistory } from '../../src/cli/history/read-history.ts'
import type { LogEntry } from '../../src/core/activity.ts'
import { TriviumError } from '../../src/core/errors.ts'
import { type Json, type JsonObject, objectsIn, pathGet } from '../../src/core/json.ts'
import { makeId, timeOf } from '../../src/core/message-id.ts'
import { openSite } from '../fixtures/daemon.ts'

test('the command below `history` leads to the lines before it, also of the same second', async () => {
  const site = openSite({ routes: 'routes: []\n' })
  const lines = ['one', 'two', 'three'].map((content, at) => ({
    time: `2026-11-29T10:00:00.${at}00Z`,
    channel: 'cli',
    role: 'user',
    content,
  }))
  site.write('.trivium/messages.jsonl', lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  const newest = await site.run(['history', '--limit', '2', '--channel', 'cl*'])
  assert.match(newest.out, /^time\tid\t.*\n2026-11-29T10:00:00\.100Z\t.*two\n.*three\n$/)
  const command = /`trivium (.*)`/.exec(newest.err)?.[1] ?? ''
  assert.equal(command, "history --limit 2 --channel 'cl*' --before 2026-11-29T10:00:00.100Z")
  const older = await site.run(command.replaceAll("'", '').split(' '))
  assert.match(older.out, /^.*\n.*one\n$/)
  assert.equal(older.err, '')
})

test('`history` takes a range of hours, and part of the id of a conversation; an unknown one is an error', async () => {
  const site = openSite({ routes: 'routes: [{ name: rest, match: { gateway: cli }, skill: echo }]\n' })
  const lines = ['09:59', '10:00', '10:59', '11:00'].map((at) => ({
    time: `2026-11-27T${at}:00.000Z`,
    channel: 'cli',
    role: 'user',
    content: at,
    meta: { conversation: 'order-4711' },
  }))
  site.write('.trivium/messages.jsonl', lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  await site.start()
  const hour = await site.run(['history', '--since', '2026-11-27 10-11'])
  assert.deepEqual([...hour.out.matchAll(/\d\d:\d\d$/gm)].flat(), ['10:00', '10:59'])
  const first = await site.run(['history', '--since', '2026-11-27 10-11', '--before', '2026-11-27T10:30'])
  assert.deepEqual([...first.out.matchAll(/\d\d:\d\d$/gm)].flat(), ['10:00'])
  await site.run(['message', 'cli', 'Hello', '--conversation', 'parcel-petra', '--wait', '10s'])
  const part = await site.run(['history', '--conversation', 'parcel-pet'])
  assert.match(part.out, /\tparcel-petra\t.*Hello/)
  const near = await site.run(['history', '--conversation', 'parcel-pedra'])
  assert.deepEqual([near.code, near.out], [1, ''])
  assert.match(near.err, /no conversation parcel-pedra\. Did you mean parcel-petra\?/)
  const old = await site.run(['history', '--conversation', 'order-4711', '--since', '2026-11-28'])
  assert.deepEqual([old.code, old.err], [0, 'Nothing found.\n'])
})

test('a page never divides a millisecond', () => {
  const newest = createNewest<{ time: string; name: string }>(2)
  for (const [time, name] of ['1a', '2b', '2c', '3d'].map((one) => [...one]))
    newest.add({ time: `${time}`, name: `${name}` })
  assert.deepEqual(newest.page(), { entries: [{ time: '3', name: 'd' }], more: true })
})

const AT = Date.parse('2026-11-29T10:00:00Z')
const MINUTE = 60_000
const iso = (minutes: number) => new Date(AT + minutes * MINUTE).toISOString()
const messageAt = (minutes: number, more: { subject: string; text: string; from?: JsonObject }) => ({
  id: makeId(AT + minutes * MINUTE, minutes),
  gateway: 'support',
  conversation: 'mail-1',
  from: { id: 'ada@mail.example', address: 'ada@mail.example' },
  ...more,
})
const taken = messageAt(0, { subject: 'Order 4655', text: 'Where is it?' })
const waiting = messageAt(3, {
  subject: 'Third mail',
  text: 'Nobody answers?',
  from: { id: 'U1', name: 'Ada' },
})
const LINES: LogEntry[] = [
  line(iso(-90), 'user', 'Of last month', {
    messageId: 'gone',
    conversation: 'mail-0',
    from: 'ada@mail.example',
  }),
  line(iso(0), 'user', 'Where is it?', { messageId: taken.id, conversation: 'mail-1' }),
  line(iso(1), 'assistant', 'It is on its way.', { skill: 'helpdesk', inReplyTo: taken.id }),
]
const LETTER = {
  id: 'outbox:1',
  at: AT + 5 * MINUTE,
  errors: [{ message: 'Gateway support permanently rejected the message: no such mailbox' }],
  data: {
    text: 'We found it in Voss.',
    by: 'http control-token:Ingrid Aune',
    gateway: 'support',
    conversation: 'ada@mail.example',
    to: 'ada@mail.example',
    queuedAt: AT + 2 * MINUTE,
  },
}

function line(time: string, role: string, content: string, meta: JsonObject): LogEntry {
  return { time, channel: 'support', role, content, meta }
}

const APPROVAL = {
  id: '0c0702d99b97e4b7',
  title: 'Refund 412.00 EUR · order 4302',
  status: 'denied',
  decidedAt: AT + MINUTE / 2,
  decidedBy: 'control-token:Tomas Berg',
  reason: 'used for a year',
  message: { id: taken.id, gateway: 'support', conversation: 'mail-1', from: 'ada@mail.example' },
}

type Store = { running: boolean; invoke(name: string, args: unknown): Promise<Json> }

/** A store with two messages, and one answer that was not sent. */
const STORE: Store = {
  running: true,
  async invoke(name: string, args: unknown) {
    const { before, text, conversation } = Object(args)
    if (name === 'message-attempts')
      return [{ id: waiting.id, outcome: 'waiting', pausedBy: [{ kind: 'conversation', name: 'mail-1' }] }]
    if (before !== undefined) return []
    if (name === 'dead-letter-list') return [LETTER]
    const messages = [waiting, taken].filter(
      (message) =>
        [undefined, message.conversation].includes(conversation) &&
        `${message.subject} ${message.text}`.includes(text ?? ''),
    )
    return { messages }
  },
}

test('`history` searches the journal in parts, and says how far back it is', async () => {
  const [newest = '', older = ''] = [3, 2].map((minute) => makeId(minute * 60_000, minute, 0))
  const pages: Record<string, Json> = {
    '': { messages: [], next: newest, searchedTo: timeOf(newest) },
    [newest]: { messages: [], next: older, searchedTo: timeOf(older) },
    [older]: { messages: [waiting] },
  }
  const invoke = async (name: string, args: unknown) => {
    const { before = '', partial } = Object(args)
    if (name !== 'message-list') return []
    assert.equal(partial, true)
    return pages[before] ?? []
  }
  const reached: number[] = []
  async function* none() {}
  const sources = {
    store: { running: false, invoke },
    lines: none(),
    progress: (at: number) => reached.push(at),
  }
  const { entries } = await readHistory(sources, { grep: 'Third' }, 10)
  assert.equal(entries.length, 1)
  assert.deepEqual(reached, [180_000, 120_000])
})

async function read(filter: HistoryFilter, limit = 50, store: Store | null = STORE) {
  async function* newestFirst() {
    yield* LINES.toReversed()
  }
  const { entries, more } = await readHistory(
    { store: store ?? undefined, lines: newestFirst() },
    filter,
    limit,
  )
  return { more, texts: entries.map(({ content }) => content), rows: entries.map(entryRow) }
}

test('`history` has each entry once: also messages that wait, answers of people, and those that were not sent', async () => {
  const { texts, rows } = await read({})
  assert.deepEqual(texts, [
    'Of last month',
    'Where is it?',
    'It is on its way.',
    'We found it in Voss.',
    'Nobody answers?',
  ])
  assert.deepEqual(rows[3]?.fields.slice(2, 6), [
    'Ingrid Aune',
    'support',
    'ada@mail.example',
    'not delivered: no such mailbox',
  ])
  assert.deepEqual(rows[4]?.fields.slice(2, 7), [
    'Ada',
    'support',
    'mail-1',
    'paused: taken over',
    'Third mail',
  ])
  const newest = await read({}, 2)
  assert.deepEqual([newest.texts, newest.more], [['We found it in Voss.', 'Nobody answers?'], true])
  assert.deepEqual(
    (await read({}, 50, null)).texts,
    LINES.map(({ content }) => content),
  )
})

test('`history` has the decision about a request for an approval, with who decided and why', async () => {
  const store: Store = {
    running: true,
    invoke: async (name, args) =>
      name === 'approval-list' ? [APPROVAL, { ...APPROVAL, status: 'pending' }] : STORE.invoke(name, args),
  }
  const { rows } = await read({ grep: '4302' }, 50, store)
  assert.deepEqual(
    rows.map(({ fields }) => fields),
    [
      [
        taken.id,
        'decision',
        'Tomas Berg',
        'support',
        'mail-1',
        '',
        '',
        'denied approval 0c0702d99b97e4b7: Refund 412.00 EUR · order 4302\nReason: used for a year',
      ],
    ],
  )
  assert.equal((await read({ sender: 'tomas' }, 50, store)).texts.length, 1)
  assert.equal((await read({ conversation: 'mail-0' }, 50, store)).texts.length, 1)
})

test('`history` filters by text, subject, author, conversation and time', async () => {
  const found = async (filter: HistoryFilter) => (await read(filter)).texts
  assert.deepEqual(await found({ grep: 'Voss' }), ['We found it in Voss.'])
  assert.deepEqual(await found({ grep: 'Third' }), ['Nobody answers?'])
  assert.deepEqual(await found({ grep: '/Order 4\\d+/' }), ['Where is it?'])
  assert.deepEqual(await found({ sender: 'ingrid' }), ['We found it in Voss.'])
  assert.deepEqual(await found({ conversation: 'mail-0' }), ['Of last month'])
  assert.deepEqual((await found({ conversation: 'mail-1' })).length, 4)
  assert.deepEqual(await found({ since: iso(1), before: iso(3) }), [
    'It is on its way.',
    'We found it in Voss.',
  ])
  assert.deepEqual(await found({ channel: 'team' }), [])
})

test('`history --follow` of a conversation has answers to its messages that are mails of their own', async () => {
  const mail = (minutes: number, content: string, inReplyTo: string) =>
    line(iso(minutes), 'assistant', content, { inReplyTo, conversation: 'ada@mail.example' })
  async function* history() {
    yield mail(6, 'It arrives today.', taken.id)
    yield line(iso(7), 'user', 'Thanks!', { messageId: 'mail-7', conversation: 'mail-1' })
    yield mail(8, 'You are welcome.', 'mail-7')
    yield mail(9, 'Of another conversation.', 'mail-9')
  }
  const texts: unknown[] = []
  await followHistory([entryOfMessage(taken)], {
    logs: { history },
    store: undefined,
    filter: { conversation: 'mail-1' },
    from: AT,
    signal: new AbortController().signal,
    show: ({ content }) => texts.push(content),
  })
  assert.deepEqual(texts, ['It arrives today.', 'Thanks!', 'You are welcome.'])
})

test('`history` reads whole pages of a daemon that knows no parts', async () => {
  const older: Store = {
    running: true,
    async invoke(name, args) {
      const { partial, ...known } = Object(args)
      if (name === 'message-list' && partial) {
        const details = 'Unrecognized key: "partial"'
        throw new TriviumError('skill_args_invalid', { name, details })
      }
      const found = await STORE.invoke(name, known)
      return name === 'message-list' ? objectsIn(pathGet(found, 'messages') ?? null) : found
    },
  }
  assert.deepEqual((await read({}, 50, older)).texts, (await read({})).texts)
})

test('`history --follow` asks rarely for decisions, and finds those made while the daemon was away', async () => {
  const end = new AbortController()
  const asked: { at: number; since: unknown }[] = []
  const invoke: Store['invoke'] = async (name, args) => {
    if (name !== 'approval-list') return []
    asked.push({ at: performance.now(), since: Object(args).since })
    if (asked.length === 1) throw new Error('the daemon restarts')
    return [APPROVAL]
  }
  const from = APPROVAL.decidedAt - 1
  const texts: string[] = []
  await followHistory([], {
    logs: { history: async function* () {} },
    store: { invoke },
    filter: {},
    from,
    signal: end.signal,
    show({ content }) {
      texts.push(String(content))
      end.abort()
    },
  })
  assert.match(texts.join(), /^denied approval/)
  const [first, second] = asked
  assert.equal(second?.since, new Date(from).toISOString())
  assert.ok(Number(second?.at) - Number(first?.at) > 4_000)
})

test('`history` in a terminal has a line for each day, and texts in the whole width or at their column', (t) => {
  const { columns } = process.stdout
  t.after(() => {
    process.stdout.columns = columns
  })
  const entry = (day: number, content: string) =>
    entryOfLine({
      time: `2026-11-${day}T10:00:00.100Z`,
      channel: 'support',
      role: 'user',
      content,
      meta: {
        messageId: 'm1',
        from: 'ada@mail.example',
        subject: 'Parcel',
        conversation: 'slack:T1:CTEAM.179600000',
      },
    })
  const text = 'Where is my parcel? It was sent on Monday, and it has not come yet. Please tell me.\n\nAda'
  const shown = (width: number) => {
    process.stdout.columns = width
    const print = createLines(ENTRY_TITLES)
    const rows = [entry(28, text), entry(28, 'Thanks'), entry(29, 'Hello')].map(entryRow)
    return rows.map(print).join('\n').split('\n')
  }
  for (const width of [80, 140]) {
    const lines = shown(width)
    const days = lines.filter((each) => each.startsWith('2026'))
    assert.deepEqual(days, ['2026-11-28 (UTC)', '2026-11-29 (UTC)'])
    assert.ok(lines.every((each) => each.length <= width))
  }
  assert.match(
    shown(80).join('\n'),
    /10:00:00 {2}← ada@mail\.example {2}support {2}…CTEAM\.179600000 {2}m1\n {4}Subject: Parcel/,
  )
  assert.match(shown(140)[0] ?? '', /^time +id +who +gateway +conversation +text$/)
  assert.match(
    shown(140)[2] ?? '',
    /^10:00:00 +m1 +ada@mail\.example +support +…CTEAM\.179600000 +← Subject: Parcel$/,
  )
})

test('`history` in a pipe has one line for each entry, and events are readable at a terminal', () => {
  const line = { time: iso(0), channel: 'cli', role: 'user', content: 'a\nb\tc', meta: { messageId: 'm1' } }
  const print = createLines(ENTRY_TITLES, 0)
  assert.match(print(entryRow(entryOfLine(line))), /^time\tid\t.*\n2026-11-29T10:00:00\.000Z\tm1\t.*\ta b c$/)
  const event = {
    time: iso(0),
    event: 'message_processed',
    channel: 'cli',
    ok: true,
    skill: 'desk',
    text: 'Hello',
  }
  assert.match(
    createLines(EVENT_TITLES, 80)(eventRow(event)),
    /· message processed {2}cli\n {4}done, skill: desk\n {4}Hello$/,
  )
  const fields = createLines(EVENT_TITLES, 0)(eventRow(event)).split('\n')[1]?.split('\t')
  assert.deepEqual(fields?.slice(1, 3), ['message_processed', 'cli'])
  assert.deepEqual(JSON.parse(fields?.[3] ?? ''), { ok: true, skill: 'desk', text: 'Hello' })
})

test('the words of `history` are also found in the names of people', async () => {
  const site = openSite({ routes: 'routes: []\n' })
  const lines = ['zoe.lindstrom@lumen.example', 'petra@mail.example'].map((from, at) => ({
    time: `2026-11-29T10:00:00.${at}00Z`,
    ...{ channel: 'cli', role: 'user', content: 'hello', meta: { from } },
  }))
  site.write('.trivium/messages.jsonl', lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  for (const words of [['zoe.lindstrom'], ['--person', 'zoe']]) {
    const { out } = await site.run(['history', ...words])
    assert.deepEqual([out.includes('zoe.lindstrom'), out.includes('petra')], [true, false], words.join(' '))
  }
})
