import assert from 'node:assert/strict'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { createAssistant } from '../../src/state/assistant.ts'
import { assistantDocument } from '../../src/state/assistant-state.ts'
import { LIMITS } from '../../src/state/limits.ts'
import { createLogs } from '../../src/state/logs.ts'
import { createStateManager } from '../../src/state/manager.ts'
import { createSearchIndex } from '../../src/state/search-index.ts'
import { temporaryDir } from './temporary.ts'

/** One run of the gateway over a data dir, as the command line makes it. */
function run(t: TestContext, dir: string) {
  const now = () => Date.UTC(2026, 4, 6, 12)
  const manager = createStateManager({ dir, documents: [assistantDocument], now })
  const logs = createLogs({ dir, now })
  const index = createSearchIndex({ path: join(dir, 'search.db'), logs })
  t.after(async () => {
    index.close()
    await Promise.all([manager.close(), logs.close()])
  })
  const assistant = createAssistant({ state: manager.document(assistantDocument), logs, index, now })
  const events = async () => (await Array.fromAsync(logs.events())).map(({ event }) => event)
  return { assistant, logs, manager, events }
}

const stateOf = (dir: string) => JSON.parse(readFileSync(join(dir, 'state.json'), 'utf8'))

describe('what the state holds is bounded', () => {
  /** A state of which these parts are full. */
  async function full(t: TestContext, parts: object) {
    const dir = temporaryDir(t)
    const first = run(t, dir)
    await first.assistant.overview()
    writeFileSync(join(dir, 'state.json'), JSON.stringify({ ...stateOf(dir), ...parts }))
    return { ...run(t, dir), dir }
  }
  const time = '2026-05-06T12:00:00.000Z'
  const notes = (count: number, channel: string) =>
    Array.from({ length: count }, (_, index) => ({ id: `memory-${index + 1}`, text: 'x', channel, time }))

  test('a note too many is refused with what to do, and there is room again after a forgotten one', async (t) => {
    const { assistant, dir } = await full(t, {
      memory: notes(LIMITS.notes, 'cli'),
      next_ids: { memory: LIMITS.notes + 1 },
    })
    const one = { text: 'one more', channel: 'cli' }
    await assert.rejects(assistant.remember(one), /Notes: the limit is 10000. Remove some with `forget`./)
    assert.equal(stateOf(dir).memory.length, LIMITS.notes)
    await assistant.forget({ id: 'memory-1', channel: 'cli' })
    assert.equal((await assistant.remember(one)).id, 'memory-10001')
  })

  test('senders without proof leave room for the others', async (t) => {
    const { assistant } = await full(t, {
      memory: notes(LIMITS.unprovenNotes, 'open/1'),
      next_ids: { memory: LIMITS.unprovenNotes + 1 },
    })
    await assert.rejects(assistant.remember({ text: 'one more', channel: 'open/2' }), /senders without proof/)
    assert.equal((await assistant.remember({ text: 'one more', channel: 'open' })).channel, 'open')
  })

  test('open work too much is refused, until some of it is finished', async (t) => {
    const delegations = Array.from({ length: LIMITS.openWork }, (_, index) => ({
      ...{ id: `delegation-${index + 1}`, kind: 'task', worker: 'ada', task: 'dig', channel: 'cli', time },
      status: 'queued',
    }))
    const { assistant } = await full(t, { delegations, next_ids: { delegation: LIMITS.openWork + 1 } })
    const more = { worker: 'ada', task: 'dig', channel: 'cli' }
    await assert.rejects(assistant.delegate(more), /the limit is 1000. Finish some/)
    await assistant.accept({ id: 'delegation-1', result: 'dug' })
    assert.equal((await assistant.delegate(more)).id, 'delegation-1001')
  })

  test('a note, a task, a query or a result that is too long is refused, and changes nothing', async (t) => {
    const { assistant, dir } = await full(t, {})
    const long = (length: number) => 'x'.repeat(length + 1)
    const refused = /the limit is \d+ characters/
    await assert.rejects(assistant.remember({ text: long(LIMITS.note), channel: 'cli' }), refused)
    await assert.rejects(assistant.search({ query: long(LIMITS.query), channel: 'cli' }), refused)
    const { id } = await assistant.delegate({ worker: 'ada', task: 'dig', channel: 'cli' })
    const before = stateOf(dir)
    await assert.rejects(
      assistant.delegate({ worker: 'ada', task: long(LIMITS.task), channel: 'cli' }),
      refused,
    )
    await assert.rejects(assistant.accept({ id, result: long(LIMITS.result) }), refused)
    assert.deepEqual(stateOf(dir), before)
  })

  test('a search keeps the beginning of what it found', async (t) => {
    const { assistant, dir } = await full(t, {})
    await assistant.remember({ text: `needle ${'x'.repeat(LIMITS.note - 10)}`, channel: 'cli' })
    await assistant.search({ query: 'needle', channel: 'cli' })
    assert.equal(stateOf(dir).searches[0].results[0].text.length, LIMITS.found)
  })
})

describe('state.json is durable memory', () => {
  test('before you send anything the state is basically empty', async (t) => {
    const dir = temporaryDir(t)
    await run(t, dir).assistant.overview()
    assert.deepEqual(stateOf(dir), {
      assistant_name: 'trivium',
      memory: [],
      searches: [],
      delegations: [],
      schedules: [],
      next_ids: {},
      schema_version: 1,
    })
  })

  test('a remembered note has an id, its text and its channel, and the next id is kept', async (t) => {
    const dir = temporaryDir(t)
    const note = await run(t, dir).assistant.remember({
      text: 'persistent systems keep state',
      channel: 'cli',
    })
    assert.equal(note.id, 'memory-1')
    const { memory, next_ids } = stateOf(dir)
    assert.deepEqual(memory, [
      {
        id: 'memory-1',
        text: 'persistent systems keep state',
        channel: 'cli',
        time: '2026-05-06T12:00:00.000Z',
      },
    ])
    assert.deepEqual(next_ids, { memory: 2 })
  })

  test('the same input in two runs accumulates', async (t) => {
    const dir = temporaryDir(t)
    for (const id of ['memory-1', 'memory-2']) {
      assert.equal((await run(t, dir).assistant.remember({ text: 'again', channel: 'cli' })).id, id)
    }
    assert.equal(stateOf(dir).memory.length, 2)
  })

  test('a deleted state.json is seeded afresh', async (t) => {
    const dir = temporaryDir(t)
    await run(t, dir).assistant.remember({ text: 'gone', channel: 'cli' })
    rmSync(join(dir, 'state.json'))
    assert.deepEqual(await run(t, dir).assistant.recall({}), [])
    assert.equal((await run(t, dir).assistant.remember({ text: 'new', channel: 'cli' })).id, 'memory-1')
  })

  test('a state.json without a version is taken over, and nothing of it is lost', async (t) => {
    const dir = temporaryDir(t)
    const old = {
      assistant_name: 'toy-platform',
      memory: [{ id: 'memory-1', text: 'old note', channel: 'cli' }],
      searches: [{ query: 'x' }],
      delegations: [],
      schedules: [],
      next_ids: { memory: 2 },
    }
    writeFileSync(join(dir, 'state.json'), JSON.stringify(old))
    const { assistant, manager } = run(t, dir)
    assert.equal((await assistant.recall({ query: 'OLD' }))[0]?.id, 'memory-1')
    assert.equal((await assistant.remember({ text: 'new', channel: 'cli' })).id, 'memory-2')
    assert.deepEqual((await manager.load('state')).document.extra, { searches: [{ query: 'x' }] })
  })
})

describe('the assistant', () => {
  test('recalls notes by words, channel and number, and forgets one', async (t) => {
    const { assistant } = run(t, temporaryDir(t))
    for (const [text, channel] of [
      ['red apple', 'cli'],
      ['green apple', 'slack'],
      ['red car', 'cli'],
    ] as const) {
      await assistant.remember({ text, channel })
    }
    const texts = async (args: Parameters<typeof assistant.recall>[0]) =>
      (await assistant.recall(args)).map((note) => note.text)
    assert.deepEqual(await texts({ query: 'Apple red' }), ['red apple'])
    assert.deepEqual(await texts({ channel: 'slack' }), ['green apple'])
    assert.deepEqual(await texts({ limit: 1 }), ['red car'])
    await assistant.forget({ id: 'memory-1', channel: 'cli' })
    assert.deepEqual(await texts({ query: 'red' }), ['red car'])
    await assert.rejects(assistant.forget({ id: 'memory-1', channel: 'cli' }), { code: 'not_found' })
  })

  test('searches notes and transcripts, best first, and keeps the result under searches', async (t) => {
    const dir = temporaryDir(t)
    const { assistant, logs } = run(t, dir)
    await assistant.remember({ text: 'The café opens at nine', channel: 'cli' })
    await logs.message({ channel: 'slack', role: 'user', content: 'when does the cafe open?' })
    await logs.message({ channel: 'slack', role: 'assistant', content: 'the weather is fine' })
    const search = await assistant.search({ query: 'Cafe open', channel: 'cli' })
    assert.equal(search.id, 'search-1')
    assert.deepEqual(new Set(search.results.map(({ source }) => source)), new Set(['note', 'message']))
    assert.deepEqual(stateOf(dir).searches, [search])
    await logs.message({ channel: 'cli', role: 'user', content: 'café again' })
    assert.equal((await assistant.search({ query: 'cafe', channel: 'cli' })).results.length, 3)
    assert.equal((await assistant.search({ query: 'cafe', channel: 'cli', in: 'slack' })).results.length, 1)
    assert.deepEqual((await assistant.search({ query: '"AND ( NEAR *', channel: 'cli' })).results, [])
    rmSync(join(dir, 'search.db'))
    assert.equal((await run(t, dir).assistant.search({ query: 'cafe', channel: 'cli' })).results.length, 3)
  })

  test('delegates work to a worker, one takes it, and its result is accepted once', async (t) => {
    const { assistant, events } = run(t, temporaryDir(t))
    const made = await assistant.delegate({ worker: 'research', task: 'find prices', channel: 'cli' })
    const taken = await Promise.all([
      assistant.take({ worker: 'research', by: 'a' }),
      assistant.take({ worker: 'research', by: 'b' }),
    ])
    assert.equal(taken.filter(Boolean).length, 1)
    await assistant.accept({ id: made.id, result: { price: 3 } })
    assert.deepEqual((await assistant.accept({ id: made.id, result: 'late' })).result, { price: 3 })
    assert.equal((await assistant.delegations({ status: 'done' })).length, 1)
    await assert.rejects(assistant.accept({ id: 'delegation-9', result: 1 }), { code: 'not_found' })
    assert.deepEqual(await events(), ['work_delegated', 'work_taken', 'result_accepted'])
  })

  test('keeps the newest 500 finished, and all that is open', async (t) => {
    const { assistant } = run(t, temporaryDir(t))
    const asked = await Promise.all(
      Array.from({ length: 505 }, (_, i) =>
        assistant.delegate({ worker: 'w', task: `${i}`, channel: 'cli' }),
      ),
    )
    await assistant.delegate({ worker: 'w', task: 'open', channel: 'cli' })
    await Promise.all(asked.map(({ id }) => assistant.accept({ id, result: null })))
    assert.deepEqual((await assistant.overview()).delegations, { done: 500, queued: 1 })
  })

  test('queues a digest once until it is taken', async (t) => {
    const { assistant } = run(t, temporaryDir(t))
    const one = await assistant.queueDigest({ channel: 'cli' })
    assert.equal((await assistant.queueDigest({ channel: 'cli' })).id, one.id)
    await assistant.take({ worker: 'digest', by: 'w' })
    assert.notEqual((await assistant.queueDigest({ channel: 'cli' })).id, one.id)
    assert.deepEqual((await assistant.overview()).delegations, { working: 1, queued: 1 })
  })
})
