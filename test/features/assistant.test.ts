import assert from 'node:assert/strict'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import type { Call } from '../../src/core/call.ts'
import { pathGet } from '../../src/core/json.ts'
import type { Scope } from '../../src/core/viewer.ts'
import { createAssistant } from '../../src/features/assistant/assistant.ts'
import { assistantDocument, LIMITS } from '../../src/features/assistant/assistant-state.ts'
import type { AssistantContext } from '../../src/features/assistant/context.ts'
import { readWhen } from '../../src/features/assistant/time-words.ts'
import { createTranscriptIndex } from '../../src/features/assistant/transcript-index.ts'
import { startOf } from '../../src/features/assistant/when/moment.ts'
import { createStateManager } from '../../src/features/documents/manager.ts'
import { createLogs } from '../../src/features/transcript/logs.ts'
import { assertPrompt } from '../fixtures/in-time.ts'
import { createMemoryStore } from '../fixtures/memory-store.ts'
import { callFrom, silent, temporaryDir } from './kit.ts'

/** No skills, and nobody to ask. */
const unknownContext: AssistantContext = {
  words: () => [],
  mayUse: () => false,
  permit: async () => {},
  run: () => assert.fail('there is no skill'),
  report: async () => {},
  ask: async () => undefined,
  message: async () => undefined,
  transportOf: () => undefined,
  timezone: () => 'UTC',
  hasModel: () => false,
}

/** One run of the assistant over a data dir, as the command line makes it. */
function run(t: TestContext, dir = temporaryDir(t), scope: Scope = 'person') {
  const now = () => Date.UTC(2026, 4, 6, 12)
  const manager = createStateManager({ dir, documents: [assistantDocument], now })
  const logs = createLogs({ dir, now })
  t.after(() => Promise.all([manager.close(), logs.close()]))
  const state = manager.document(assistantDocument)
  const index = createTranscriptIndex({ dir, logs })
  t.after(index.close)
  const never = () => assert.fail('what the state holds asks nobody')
  const schedules = { create: never, list: never, delete: never, next: never }
  const { kv } = createMemoryStore()
  const parts = createAssistant({
    ...{ state, logs, index, now, log: silent, kv, context: unknownContext, schedules },
    scope: () => scope,
  })
  const stateOf = () => JSON.parse(readFileSync(join(dir, 'state.json'), 'utf8'))
  return { ...parts, logs, manager, dir, stateOf }
}

const cli = callFrom()
const search = (text: string) => ({ text, limit: 10 })
const recall = (text = '', limit = 20) => ({ text, limit })

const time = '2026-05-06T12:00:00.000Z'

/** A state of which these parts are full. */
async function full(t: TestContext, parts: object) {
  const first = run(t)
  await first.overview()
  writeFileSync(join(first.dir, 'state.json'), JSON.stringify({ ...first.stateOf(), ...parts }))
  return run(t, first.dir)
}

/** The longest time (ms) for which what runs let nobody else have a turn. */
async function longestHalt(work: () => Promise<void>): Promise<number> {
  // Of processor time: what other processes take from this one is not its fault.
  const spent = () => process.cpuUsage().user / 1000
  let [last, longest] = [spent(), 0]
  const tick = () => {
    longest = Math.max(longest, spent() - last)
    last = spent()
  }
  const timer = setInterval(tick, 5)
  await work()
  clearInterval(timer)
  tick()
  return longest
}

const notes = (count: number, channel: string) => ({
  memory: Array.from({ length: count }, (_, i) => ({
    id: `memory-${i + 1}`,
    text: 'x',
    channel,
    owner: channel,
    time,
  })),
  next_ids: { memory: count + 1 },
})
const work = (count: number, status: string) =>
  Array.from({ length: count }, (_, i) => ({
    ...{ id: `${status}-${i + 1}`, kind: 'task', worker: 'ada', task: 'dig', channel: 'cli', time },
    status,
  }))

describe('what the state holds is bounded', () => {
  test('a note too many is refused, and there is room again after a forgotten one', async (t) => {
    const { assistant, stateOf } = await full(t, notes(LIMITS.notes.most, 'cli'))
    await assert.rejects(assistant.remember({ text: 'one more' }, cli), { code: 'limit_reached' })
    assert.equal(stateOf().memory.length, LIMITS.notes.most)
    await assistant.forget({ id: 'memory-1', text: '' }, cli)
    assert.equal((await assistant.remember({ text: 'one more' }, cli)).note.id, 'memory-10001')
  })

  test('senders without proof leave room for the others', async (t) => {
    const { assistant } = await full(t, notes(LIMITS.unverifiedNotes.most, 'open/1'))
    const unproven = callFrom('open', { verified: false, conversation: '2' })
    await assert.rejects(assistant.remember({ text: 'one more' }, unproven), /unverified senders/)
    assert.equal((await assistant.remember({ text: 'one more' }, callFrom('open'))).note.channel, 'open')
  })

  test('one person leaves room for the notes of others', async (t) => {
    const { assistant } = await full(t, notes(LIMITS.ownNotes.most, 'team:ada'))
    await assert.rejects(assistant.remember({ text: 'one more' }, callFrom('team')), /Your notes/)
    await assistant.remember({ text: 'one more' }, callFrom('team', { who: 'bob' }))
    await assistant.remember({ text: 'one more' }, cli)
  })

  test('open work too much is refused, until some is finished; of the finished the newest 500 stay', async (t) => {
    const { most } = LIMITS.openWork
    const { assistant, delegations, overview } = await full(t, {
      delegations: [...work(500, 'done'), ...work(most, 'queued')],
    })
    const more = { worker: 'ada', text: 'dig' }
    await assert.rejects(assistant.delegate(more, cli), { code: 'limit_reached' })
    await delegations.accept({ id: 'queued-1', result: 'dug', failed: false }, cli)
    await assistant.delegate(more, cli)
    assert.deepEqual((await overview()).delegations, { done: 500, queued: most })
  })

  test('one person leaves room for the work of others', async (t) => {
    const own = work(LIMITS.ownWork.most, 'queued').map((one) => ({ ...one, owner: 'team:ada' }))
    const { assistant } = await full(t, { delegations: own })
    const more = { worker: 'x', text: 'dig' }
    await assert.rejects(assistant.delegate(more, callFrom('team')), /Your work for others/)
    await assistant.delegate(more, callFrom('team', { who: 'bob' }))
  })

  test('a digest of a message that is tried again covers the same time', async (t) => {
    const { assistant, logs } = run(t)
    await logs.message({
      time: Date.parse(time),
      channel: 'team',
      role: 'user',
      content: 'the roof leaks',
      meta: { from: 'ada', conversation: 'c-1' },
    })
    const digest = () => assistant['digest-now']({ text: '' }, callFrom('team'))
    assert.match((await digest()).text, /the roof leaks/)
    assert.match((await digest()).text, /the roof leaks/)
    await assert.rejects(assistant['digest-now']({ text: 'x'.repeat(1e6) }, cli), { code: 'limit_reached' })
    await assert.rejects(assistant['schedule-in-words']({ text: `a${','.repeat(1e6)}x every day` }, cli), {
      code: 'limit_reached',
    })
  })

  test('a digest lists conversations by their latest message, and leaves room for open work', async (t) => {
    const { assistant, logs } = run(t)
    let at = Date.parse(time) - 60_000
    const say = async (conversation: string, content: string) => {
      const meta = { from: 'ada', conversation }
      await logs.message({ time: at++, channel: 'team', role: 'user', content, meta })
    }
    await say('long', 'the roof leaks')
    for (let n = 1; n <= 20; n++) await say(`short-${n}`, `note ${n}`)
    await say('long', 'it still leaks')
    const listed = async () =>
      (await assistant['digest-now']({ text: 'today' }, cli)).text.split('\n').slice(1)
    const list = await listed()
    assert.deepEqual(list.slice(0, 2), ['- team ada: the roof leaks (+1)', '- team ada: note 20'])
    assert.deepEqual([list.length, list.at(-1)], [20, '- team ada: note 2'])
    await assistant.delegate({ worker: 'bob', text: 'mend the roof' }, cli)
    const withWork = await listed()
    assert.deepEqual(withWork.slice(-2), ['- team ada: note 3', '- delegation-1: bob: mend the roof'])
    assert.equal(withWork.length, 20)
  })

  test('a digest of words that name no time is refused, and the next one covers what it would have', async (t) => {
    const { assistant, logs } = run(t)
    const at = Date.parse(time) - 60_000
    const meta = { from: 'ada', conversation: 'c-1' }
    await logs.message({ time: at, channel: 'team', role: 'user', content: 'the roof leaks', meta })
    const digest = (text: string) => assistant['digest-now']({ text }, cli)
    for (const text of ['every morning', 'every monday', 'daily', 'tomorrow at 9', 'at 9 every day'])
      await assert.rejects(digest(text), { code: 'usage', message: new RegExp(`schedule digest ${text}\\?`) })
    for (const text of [
      'banana',
      'todays',
      'of the weak',
      '12 hrs ago banana',
      'weekly banana',
      'yesterday from 9 to 11',
      '12',
    ])
      await assert.rejects(digest(text), { code: 'usage', message: /is not one.*digest of the week/ })
    for (const text of [
      ...[
        '12h',
        'of today',
        'today, please',
        'since monday',
        'of the last week',
        'this week',
        'last 3 days',
        'past 24 hours',
      ],
      ...[
        'the last two hours',
        'since yesterday at 9',
        'of the week about the roof',
        '3 days',
        'since last friday.',
      ],
    ])
      assert.match((await digest(text)).text, /^Since /, text)
    assert.match((await digest('')).text, /the roof leaks/)
    assert.doesNotMatch((await digest('')).text, /the roof leaks/)
  })

  test('a search for what is said all the time takes moments', async (t) => {
    const { assistant, logs } = run(t)
    const said = Array.from({ length: 8_000 }, (_, at) => {
      return { channel: 'team', role: 'user', content: `hello ${at}`, meta: { messageId: `${at}` } } as const
    })
    await Promise.all(said.map(logs.message))
    await assistant['search-notes'](search('hello'), cli)
    const begun = performance.now()
    assert.equal((await assistant['search-notes'](search('hello'), cli)).search.results.length, 10)
    await assertPrompt('the search', performance.now() - begun, 1_500)
  })

  test('words without end keep nobody else waiting', async (t) => {
    // Words that differ, so that each of the search is counted in each of the notes.
    const word = (at: number) => `${at.toString(36)}`.padStart(3, 'a')
    const text = Array.from({ length: 2_500 }, (_, at) => word(at)).join(' ')
    const memory = notes(LIMITS.unverifiedNotes.most, 'open/1').memory.map((note) => ({ ...note, text }))
    const { assistant } = await full(t, { memory })
    const stranger = callFrom('open', { verified: false, conversation: '1' })
    const longest = await longestHalt(async () => {
      const query = Array.from({ length: 250 }, (_, at) => word(at)).join(' ')
      const found = await assistant['search-notes'](search(query), stranger)
      assert.equal(found.search.results.length, 10)
      await assert.rejects(assistant.recall(recall('a '.repeat(1_000)), stranger), { code: 'limit_reached' })
    })
    await assertPrompt('what else there was to do', longest, 2_000)
  })

  test('a text full of times takes no longer than a short one', async () => {
    const options = { timezone: 'UTC', now: Date.parse(time) }
    const took = async (length: number) => {
      const text = ' 10 minutes '.repeat(200).slice(0, length)
      const begun = performance.now()
      await readWhen(text, options)
      await startOf(text, 'UTC', options.now)
      return performance.now() - begun
    }
    // The least of several: a busy machine interrupts single runs.
    const least = async (length: number) => {
      const runs: number[] = []
      while (runs.length < 5) runs.push(await took(length))
      return Math.min(...runs)
    }
    await took(20)
    const short = await least(200)
    assert.ok((await least(LIMITS.timed.most)) < 6 * short)
    const long = 'call Ada about the invoices '.repeat(40)
    assert.equal((await readWhen(`tomorrow at 10: ${long}`, options))?.cron, '2026-05-07T10:00:00')
    assert.equal((await readWhen(`${long}tomorrow at 10`, options))?.cron, '2026-05-07T10:00:00')
  })

  test('a note, a task, a query or a result that is too long is refused, and changes nothing', async (t) => {
    const { assistant, delegations, stateOf } = run(t)
    const { id } = (await assistant.delegate({ worker: 'ada', text: 'dig' }, cli)).delegation
    await assistant.remember({ text: `needle ${'x'.repeat(LIMITS.note.most - 10)}` }, cli)
    await assistant['search-notes'](search('needle'), cli)
    const before = stateOf()
    assert.equal(before.searches[0].results[0].text.length, 500)
    const long = (length: number) => 'x'.repeat(length + 1)
    for (const attempt of [
      () => assistant.remember({ text: long(LIMITS.note.most) }, cli),
      () => assistant['search-notes'](search(long(LIMITS.query.most)), cli),
      () => assistant.delegate({ worker: 'ada', text: long(LIMITS.task.most) }, cli),
      () => delegations.accept({ id, result: long(LIMITS.result.most), failed: false }, cli),
    ])
      await assert.rejects(attempt, { code: 'limit_reached' })
    assert.deepEqual(stateOf(), before)
  })
})

test('a state.json of another program is taken over, and what has another shape is kept under extra', async (t) => {
  const { assistant, manager, dir } = run(t)
  const old = {
    assistant_name: 'toy-platform',
    memory: [{ id: 'memory-1', text: 'old note', tags: [] }, 'a bare text'],
    searches: [{ query: 'x' }],
    schedules: [],
    next_ids: { memory: 3 },
  }
  writeFileSync(join(dir, 'state.json'), JSON.stringify(old))
  assert.equal((await assistant.recall(recall('OLD'), cli)).notes[0]?.id, 'memory-1')
  assert.deepEqual(
    (await assistant.recall(recall(), cli)).notes.map(({ text }) => text),
    ['old note', 'a bare text'],
  )
  assert.equal((await assistant.remember({ text: 'new' }, cli)).note.id, 'memory-3')
  const { document } = await manager.load('state')
  assert.deepEqual(
    [document.assistant_name, document.extra],
    ['toy-platform', { searches: [{ query: 'x' }] }],
  )
})

test('a state.json of version 1 is taken over: its notes are their channels’, and nobody’s own', async (t) => {
  const { assistant, manager, dir } = run(t)
  const note = (id: string, channel: string) => ({ id, text: id, channel, time })
  const every = {
    name: 'x',
    every: 1000,
    timezone: 'UTC',
    misfire: 'once',
    skill: 'x',
    args: {},
    created: time,
  }
  const by = { id: 'ada', roles: [] }
  const old = {
    ...{ schema_version: 1, assistant_name: 'trivium', searches: [], delegations: [], next_ids: {} },
    memory: [note('of-cli', 'cli'), note('of-team', 'team'), note('of-open', 'open/c-1')],
    schedules: [{ id: 'schedule-1', channel: 'chat', by, ...every }],
  }
  writeFileSync(join(dir, 'state.json'), JSON.stringify(old))
  const seen = async (call: Call, { assistant: by } = { assistant }) =>
    (await by.recall(recall(), call)).notes.map(({ text }) => text)
  assert.deepEqual(await seen(cli), ['of-cli', 'of-team', 'of-open'])
  assert.deepEqual(await seen(callFrom('team')), [])
  assert.deepEqual(await seen(callFrom('team'), run(t, dir, 'team')), ['of-team'])
  assert.deepEqual(await seen(callFrom('open', { verified: false })), ['of-open'])
  const { document } = await manager.load('state')
  assert.deepEqual(pathGet(document, 'schedules.0.by'), { ...by, id: 'chat:ada' })
})

test('with the scope team somebody of another workspace still sees nothing', async (t) => {
  const { assistant } = run(t, temporaryDir(t), 'team')
  await assistant.remember({ text: 'zanzibar' }, callFrom('team'))
  const bob = callFrom('team', { who: 'bob' })
  const partner = { ...bob, caller: { kind: 'route' as const, id: 'team:external:U9' } }
  const seen = async (call: Call) => [
    (await assistant.recall(recall(), call)).notes.length,
    (await assistant['search-notes'](search('zanzibar'), call)).search.results.length,
  ]
  assert.deepEqual(
    [await seen(bob), await seen(partner)],
    [
      [1, 1],
      [0, 0],
    ],
  )
})

describe('the assistant', () => {
  test('recalls notes by words and number, and searches notes and then the transcript', async (t) => {
    const { assistant, logs, stateOf, dir } = run(t)
    for (const text of ['red apple', 'green apple', 'red car', 'The café opens at nine'])
      await assistant.remember({ text }, cli)
    const texts = async (args: Parameters<typeof assistant.recall>[0]) =>
      (await assistant.recall(args, cli)).notes.map((note) => note.text)
    assert.deepEqual(await texts(recall('Apple red')), ['red apple'])
    assert.deepEqual(await texts(recall('', 1)), ['The café opens at nine'])

    for (const content of ['when does the cafe open, you cafe lovers?', 'the weather is fine'])
      await logs.message({ channel: 'slack', role: 'user', content })
    const { search: found } = await assistant['search-notes'](search('Cafe open'), cli)
    assert.deepEqual(
      found.results.map(({ source }) => source),
      ['note', 'message'],
    )
    assert.deepEqual(stateOf().searches, [found])
    // The index follows the log, is made anew where it is damaged, and forgets what was removed.
    await logs.message({ channel: 'slack', role: 'assistant', content: 'It opens at nine, in the café.' })
    const count = async (text: string) =>
      (await assistant['search-notes'](search(text), cli)).search.results.length
    assert.equal(await count('cafe open'), 3)
    writeFileSync(join(dir, 'search.db'), 'no database')
    assert.equal(await count('cafe open'), 3)
    rmSync(join(dir, 'messages.jsonl'))
    assert.equal(await count('cafe open'), 1)
    await logs.message({ channel: 'slack', role: 'user', content: 'is the café closed?' })
    for (const [args, count] of [
      [{ ...search('caf'), in: 'slack' }, 1],
      [{ ...search('the'), limit: 1 }, 1],
      [search('"AND ( NEAR *'), 0],
    ] as const)
      assert.equal((await assistant['search-notes'](args, cli)).search.results.length, count)
  })

  test('lists the work that one gave, took or is the worker of; to an operator all', async (t) => {
    const { assistant, delegations } = run(t)
    const [ada, bob] = [callFrom('team'), callFrom('team', { who: 'bob' })]
    await assistant.delegate({ worker: 'helper', text: 'of ada' }, ada)
    await assistant.delegate({ worker: 'team:bob', text: 'for bob' }, ada)
    await assistant.delegate({ worker: 'helper', text: 'of the command line' }, cli)
    const listed = async (call: Call) => (await delegations.list({}, call)).map(({ task }) => task)
    assert.deepEqual(await listed(ada), ['of ada', 'for bob'])
    assert.deepEqual(await listed(bob), ['for bob'])
    await delegations.take({ worker: 'helper' }, bob)
    assert.deepEqual(await listed(bob), ['of ada', 'for bob'])
    assert.equal((await listed(cli)).length, 3)
  })
})
