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

/** A context without skills, messages and a model. */
const unknownContext: AssistantContext = {
  words: () => [],
  mayUse: () => false,
  requireAccess: async () => {},
  run: () => assert.fail('there is no skill'),
  report: async () => {},
  ask: async () => undefined,
  message: async () => undefined,
  transportOf: () => undefined,
  timezone: () => 'UTC',
  hasModel: () => false,
}

/** The assistant on a data directory, as a command opens it. */
function openAssistant(t: TestContext, dir = temporaryDir(t), scope: Scope = 'person') {
  const now = () => Date.UTC(2026, 4, 6, 12)
  const manager = createStateManager({ dir, documents: [assistantDocument], now })
  const logs = createLogs({ dir, now })
  t.after(() => Promise.all([manager.close(), logs.close()]))
  const state = manager.document(assistantDocument)
  const index = createTranscriptIndex({ dir, logs })
  t.after(index.close)
  const unused = () => assert.fail('no test here needs a schedule')
  const schedules = { create: unused, list: unused, delete: unused, next: unused }
  const { kv } = createMemoryStore()
  const parts = createAssistant({
    state,
    logs,
    index,
    now,
    log: silent,
    kv,
    context: unknownContext,
    schedules,
    scope: () => scope,
  })
  const stateOf = () => JSON.parse(readFileSync(join(dir, 'state.json'), 'utf8'))
  return { ...parts, logs, manager, dir, stateOf }
}

const cli = callFrom()
const search = (text: string) => ({ text, limit: 10 })
const recall = (text = '', limit = 20) => ({ text, limit })

const time = '2026-05-06T12:00:00.000Z'

/** The assistant on a state with these parts. */
async function runWith(t: TestContext, parts: object) {
  const first = openAssistant(t)
  await first.overview()
  writeFileSync(join(first.dir, 'state.json'), JSON.stringify({ ...first.stateOf(), ...parts }))
  return openAssistant(t, first.dir)
}

/** The longest time (ms of processor time) for which the work blocked the event loop. */
async function longestBlock(work: () => Promise<void>): Promise<number> {
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
    id: `${status}-${i + 1}`,
    kind: 'task',
    worker: 'ada',
    task: 'dig',
    channel: 'cli',
    time,
    status,
  }))

describe('limits of the state of the assistant', () => {
  test('a note beyond the maximum is refused until another one is forgotten', async (t) => {
    const { assistant, stateOf } = await runWith(t, notes(LIMITS.notes.most, 'cli'))
    await assert.rejects(assistant.remember({ text: 'one more' }, cli), { code: 'limit_reached' })
    assert.equal(stateOf().memory.length, LIMITS.notes.most)
    await assistant.forget({ id: 'memory-1', text: '' }, cli)
    assert.equal(
      (await assistant.remember({ text: 'one more' }, cli)).note.id,
      `memory-${LIMITS.notes.most + 1}`,
    )
  })

  test('a damaged schedule is kept, and only it is unreadable', async (t) => {
    const valid = {
      ...{ id: 'schedule-1', name: 'digest', cron: '0 9 * * *', timezone: 'UTC', misfire: 'skip' },
      ...{ skill: 'digest', args: {}, channel: 'cli', created: time },
    }
    const damaged = { ...valid, id: 'schedule-2', misfire: 'sometimes' }
    const { assistant, manager, stateOf } = await runWith(t, {
      ...notes(2, 'cli'),
      schedules: [damaged, valid],
    })
    for (const text of ['one', 'two']) await assistant.remember({ text }, cli)
    assert.deepEqual((await manager.load('state')).document.schedules, [valid])
    assert.deepEqual(stateOf().schedules, [valid, damaged])
    assert.equal(stateOf().memory.length, 4)
    await manager.update('state', (draft) => Object.assign(draft, { schedules: [] }))
    assert.deepEqual(stateOf().schedules, [damaged])
    const invalid = manager.update('state', (draft) => Object.assign(draft, { schedules: [damaged] }))
    await assert.rejects(invalid, { code: 'state_invalid' })
  })

  test('a forgotten note is also gone from the results of earlier searches', async (t) => {
    const result = (ref: string) => ({ source: 'note', ref, text: 'dig', channel: 'cli', score: 1 })
    const search = { id: 'search-1', query: 'dig', channel: 'cli', time }
    const searches = [{ ...search, results: [result('memory-1'), result('memory-2')] }]
    const { assistant, stateOf } = await runWith(t, { ...notes(2, 'cli'), searches })
    await assistant.forget({ id: 'memory-1', text: '' }, cli)
    assert.deepEqual(stateOf().searches, [{ ...search, results: [result('memory-2')] }])
  })

  test('notes of unverified senders leave room for those of verified ones', async (t) => {
    const { assistant } = await runWith(t, notes(LIMITS.unverifiedNotes.most, 'open/1'))
    const unverified = callFrom('open', { verified: false, conversation: '2' })
    await assert.rejects(assistant.remember({ text: 'one more' }, unverified), /unverified senders/)
    assert.equal((await assistant.remember({ text: 'one more' }, callFrom('open'))).note.channel, 'open')
  })

  test('notes of unverified senders and of operators leave room for each other', async (t) => {
    const { assistant } = await runWith(t, notes(LIMITS.unverifiedNotes.most, 'open/1'))
    assert.equal((await assistant.remember({ text: 'one more' }, cli)).note.owner, 'operator/cli')
    const other = await runWith(t, notes(LIMITS.unverifiedNotes.most, 'operator/http'))
    const unverified = callFrom('open', { verified: false, conversation: '2' })
    assert.equal((await other.assistant.remember({ text: 'one more' }, unverified)).note.owner, 'open/2')
  })

  test('an unverified sender of a gateway named operator shares no notes with operators', async (t) => {
    const { assistant } = await runWith(t, notes(2, 'operator/http'))
    const unverified = callFrom('operator', { verified: false, conversation: 'http' })
    assert.deepEqual((await assistant.recall({ text: '', limit: 9 }, unverified)).notes, [])
    await assistant.remember({ text: 'mine' }, unverified)
    const { notes: found } = await assistant.recall({ text: '', limit: 9 }, unverified)
    assert.deepEqual(
      found.map(({ text }) => text),
      ['mine'],
    )
  })

  test('the notes of one person leave room for those of others', async (t) => {
    const { assistant } = await runWith(t, notes(LIMITS.ownNotes.most, 'team:ada'))
    await assert.rejects(assistant.remember({ text: 'one more' }, callFrom('team')), /Your notes/)
    await assistant.remember({ text: 'one more' }, callFrom('team', { who: 'bob' }))
    await assistant.remember({ text: 'one more' }, cli)
  })

  test('open work beyond the maximum is refused until some is done; the newest 500 done stay', async (t) => {
    const { most } = LIMITS.openWork
    const { assistant, delegations, overview } = await runWith(t, {
      delegations: [...work(500, 'done'), ...work(most, 'queued')],
    })
    const more = { worker: 'ada', text: 'dig' }
    await assert.rejects(assistant.delegate(more, cli), { code: 'limit_reached' })
    await delegations.accept({ id: 'queued-1', result: 'dug', failed: false }, cli)
    await assistant.delegate(more, cli)
    assert.deepEqual((await overview()).delegations, { done: 500, queued: most })
  })

  test('work that took long keeps its result, although 500 others were finished meanwhile', async (t) => {
    const { delegations } = await runWith(t, { delegations: [...work(1, 'working'), ...work(500, 'done')] })
    const end = { id: 'working-1', result: 'dug', failed: false }
    assert.equal((await delegations.accept(end, cli)).result, 'dug')
    assert.equal((await delegations.accept(end, cli)).result, 'dug')
  })

  test('the work of one person leaves room for that of others', async (t) => {
    const own = work(LIMITS.ownWork.most, 'queued').map((item) => ({ ...item, owner: 'team:ada' }))
    const { assistant } = await runWith(t, { delegations: own })
    const more = { worker: 'x', text: 'dig' }
    await assert.rejects(assistant.delegate(more, callFrom('team')), /Your work for others/)
    await assistant.delegate(more, callFrom('team', { who: 'bob' }))
  })

  test('words for a digest or a schedule are refused if they are too long', async (t) => {
    const { assistant } = openAssistant(t)
    const refused = { code: 'limit_reached' }
    await assert.rejects(assistant['digest-now']({ text: 'x'.repeat(1e6) }, cli), refused)
    // A pattern that backtracks would not end on this.
    const words = `a${','.repeat(1e6)}x every day`
    await assert.rejects(assistant['schedule-in-words']({ text: words }, cli), refused)
  })

  test('a digest covers the same time if its message is tried again', async (t) => {
    const { assistant, logs } = openAssistant(t)
    const meta = { from: 'ada', conversation: 'c-1' }
    const at = Date.parse(time)
    await logs.message({ time: at, channel: 'team', role: 'user', content: 'the roof leaks', meta })
    const digest = () => assistant['digest-now']({ text: '' }, callFrom('team'))
    assert.match((await digest()).text, /the roof leaks/)
    // `callFrom` gives all calls the same message.
    assert.match((await digest()).text, /the roof leaks/)
  })

  test('a digest lists conversations by their latest message, and leaves room for open work', async (t) => {
    const { assistant, logs } = openAssistant(t)
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

  test('a digest of words without a time is refused, and the next digest covers its time', async (t) => {
    const { assistant, logs } = openAssistant(t)
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
      '12h',
      'of today',
      'today, please',
      'since monday',
      'of the last week',
      'this week',
      'last 3 days',
      'past 24 hours',
      'the last two hours',
      'since yesterday at 9',
      'of the week about the roof',
      '3 days',
      'since last friday.',
    ])
      assert.match((await digest(text)).text, /^Since /, text)
    assert.match((await digest('')).text, /the roof leaks/)
    assert.doesNotMatch((await digest('')).text, /the roof leaks/)
  })

  test('a search for a word of every message is quick', async (t) => {
    const { assistant, logs } = openAssistant(t)
    const messages = Array.from({ length: 8_000 }, (_, n) => {
      return { channel: 'team', role: 'user', content: `hello ${n}`, meta: { messageId: `${n}` } } as const
    })
    await Promise.all(messages.map(logs.message))
    await assistant['search-notes'](search('hello'), cli)
    const began = performance.now()
    assert.equal((await assistant['search-notes'](search('hello'), cli)).search.results.length, 10)
    await assertPrompt('the search', performance.now() - began, 1_500)
  })

  test('a search for many words in long notes does not block the daemon', async (t) => {
    // Different words, so that each word of the search is counted in each note.
    const words = (count: number) =>
      Array.from({ length: count }, (_, n) => n.toString(36).padStart(3, 'a')).join(' ')
    const text = words(2_500)
    const memory = notes(LIMITS.unverifiedNotes.most, 'open/1').memory.map((note) => ({ ...note, text }))
    const { assistant } = await runWith(t, { memory })
    const stranger = callFrom('open', { verified: false, conversation: '1' })
    const longest = await longestBlock(async () => {
      const found = await assistant['search-notes'](search(words(250)), stranger)
      assert.equal(found.search.results.length, 10)
      await assert.rejects(assistant.recall(recall('a '.repeat(1_000)), stranger), { code: 'limit_reached' })
    })
    await assertPrompt('other work', longest, 2_000)
  })

  test('the time to read a text full of times is bounded', async () => {
    const options = { timezone: 'UTC', now: Date.parse(time) }
    const measure = async (length: number) => {
      const text = ' 10 minutes '.repeat(200).slice(0, length)
      const began = performance.now()
      await readWhen(text, options)
      await startOf(text, 'UTC', options.now)
      return performance.now() - began
    }
    // The shortest of several: a busy machine interrupts single runs.
    const shortest = async (length: number) => {
      const runs: number[] = []
      while (runs.length < 5) runs.push(await measure(length))
      return Math.min(...runs)
    }
    await measure(20)
    const short = await shortest(200)
    assert.ok((await shortest(LIMITS.timeInWords.most)) < 6 * short)
  })

  test('a time is found at both ends of a long text', async () => {
    const options = { timezone: 'UTC', now: Date.parse(time) }
    const long = 'call Ada about the invoices '.repeat(40)
    assert.equal((await readWhen(`tomorrow at 10: ${long}`, options))?.cron, '2026-05-07T10:00:00')
    assert.equal((await readWhen(`${long}tomorrow at 10`, options))?.cron, '2026-05-07T10:00:00')
  })

  test('a note, a task, a query or a result that is too long is refused, and changes nothing', async (t) => {
    const { assistant, delegations, stateOf } = openAssistant(t)
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

test('a state.json of another program is adopted; parts of another shape are kept under extra', async (t) => {
  const { assistant, manager, dir } = openAssistant(t)
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

test('a state.json of version 1 is migrated: its notes belong to their channels, not to persons', async (t) => {
  const { assistant, manager, dir } = openAssistant(t)
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
    schema_version: 1,
    assistant_name: 'trivium',
    searches: [],
    delegations: [],
    next_ids: {},
    memory: [note('of-cli', 'cli'), note('of-team', 'team'), note('of-open', 'open/c-1')],
    schedules: [{ id: 'schedule-1', channel: 'chat', by, ...every }],
  }
  writeFileSync(join(dir, 'state.json'), JSON.stringify(old))
  const visible = async (call: Call, of = assistant) =>
    (await of.recall(recall(), call)).notes.map(({ text }) => text)
  assert.deepEqual(await visible(cli), ['of-cli', 'of-team', 'of-open'])
  assert.deepEqual(await visible(callFrom('team')), [])
  assert.deepEqual(await visible(callFrom('team'), openAssistant(t, dir, 'team').assistant), ['of-team'])
  assert.deepEqual(await visible(callFrom('open', { verified: false })), ['of-open'])
  const { document } = await manager.load('state')
  assert.deepEqual(pathGet(document, 'schedules.0.by'), { ...by, id: 'chat:ada' })
})

test('the scope team hides notes from people of other workspaces', async (t) => {
  const { assistant } = openAssistant(t, temporaryDir(t), 'team')
  await assistant.remember({ text: 'zanzibar' }, callFrom('team'))
  const bob = callFrom('team', { who: 'bob' })
  const partner = { ...bob, caller: { kind: 'route' as const, id: 'team:external:U9' } }
  const visible = async (call: Call) => ({
    recalled: (await assistant.recall(recall(), call)).notes.length,
    found: (await assistant['search-notes'](search('zanzibar'), call)).search.results.length,
  })
  assert.deepEqual(await visible(bob), { recalled: 1, found: 1 })
  assert.deepEqual(await visible(partner), { recalled: 0, found: 0 })
})

describe('the assistant', () => {
  test('recalls notes by words, or the newest ones', async (t) => {
    const { assistant } = openAssistant(t)
    for (const text of ['red apple', 'green apple', 'red car', 'The café opens at nine'])
      await assistant.remember({ text }, cli)
    const texts = async (args: Parameters<typeof assistant.recall>[0]) =>
      (await assistant.recall(args, cli)).notes.map((note) => note.text)
    assert.deepEqual(await texts(recall('Apple red')), ['red apple'])
    assert.deepEqual(await texts(recall('', 1)), ['The café opens at nine'])
  })

  test('searches the notes and then the transcript', async (t) => {
    const { assistant, logs, stateOf, dir } = openAssistant(t)
    const write = (content: string, role: 'user' | 'assistant' = 'user') =>
      logs.message({ channel: 'slack', role, content })
    const count = async (args: Parameters<(typeof assistant)['search-notes']>[0]) =>
      (await assistant['search-notes'](args, cli)).search.results.length
    await assistant.remember({ text: 'The café opens at nine' }, cli)
    for (const content of ['when does the cafe open, you cafe lovers?', 'the weather is fine'])
      await write(content)
    const { search: found } = await assistant['search-notes'](search('Cafe open'), cli)
    assert.deepEqual(
      found.results.map(({ source }) => source),
      ['note', 'message'],
    )
    assert.deepEqual(stateOf().searches, [found])
    await write('It opens at nine, in the café.', 'assistant')
    assert.equal(await count(search('cafe open')), 3, 'the index follows the log')
    writeFileSync(join(dir, 'search.db'), 'no database')
    assert.equal(await count(search('cafe open')), 3, 'a damaged index is made again')
    rmSync(join(dir, 'messages.jsonl'))
    assert.equal(await count(search('cafe open')), 1, 'removed messages are not found')
    await write('is the café closed?')
    assert.equal(await count({ ...search('caf'), in: 'slack' }), 1)
    assert.equal(await count({ ...search('the'), limit: 1 }), 1)
    assert.equal(await count(search('"AND ( NEAR *')), 0, 'operators of the index are only text')
  })

  test('lists the work that a person gave, took or shall do, and all of it to an operator', async (t) => {
    const { assistant, delegations } = openAssistant(t)
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
