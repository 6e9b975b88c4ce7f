import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { TriviumError } from '../../src/core/errors.ts'
import { createCallLedger } from '../../src/features/calls/ledger.ts'
import { createLogs } from '../../src/features/transcript/logs.ts'
import { createEmbeddedStore } from '../../src/stores/embedded/index.ts'
import { silent, temporaryDir, toEvent } from './kit.ts'

const unknown = { code: 'call_unknown' }
const never = () => new Promise<null>(() => {})

/**
 * `open` opens the ledger of one store again at each call, as another process does; all write the
 * same logs.
 */
async function start(t: TestContext) {
  const dir = temporaryDir(t)
  const logs = createLogs({ dir })
  const onFreshStore = async () => {
    const store = await createEmbeddedStore({ dir: temporaryDir(t), log: silent, toEvent })
    t.after(() => store.close())
    return () => createCallLedger({ kv: store.kv, by: 'test', note: logs.call, now: Date.now })
  }
  t.after(() => logs.close())
  return { open: await onFreshStore(), onFreshStore, logs }
}

/** Begins a call in a process that then dies. */
async function begin(ledger: ReturnType<typeof createCallLedger>, key: string): Promise<void> {
  await new Promise<void>((resolve) => {
    void ledger.once(key, () => {
      resolve()
      return never()
    })
  })
}

describe('the ledger of calls', () => {
  test('lets a person settle an unknown call: with its result, or as not made', async (t) => {
    const { open } = await start(t)
    for (const key of ['a', 'b']) await begin(open(), key)
    const ledger = open()
    await ledger.settle({ key: 'a', happened: true, result: 'it arrived' })
    await ledger.settle({ key: 'b', happened: false, result: null })
    assert.deepEqual(await ledger.list(), [])
    assert.equal(await ledger.once('a', () => 'again'), 'it arrived')
    assert.equal(await ledger.once('b', () => 'again'), 'again')
    await assert.rejects(ledger.settle({ key: 'a', happened: false, result: null }), { code: 'not_found' })
  })

  test('repeats a call after an error that proves that nothing happened; after others it is unknown', async (t) => {
    const ledger = (await start(t)).open()
    const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
    for (const error of [new Error('fetch failed', { cause: refused }), new TriviumError('send_rejected')]) {
      await assert.rejects(
        ledger.once(error.message, () => Promise.reject(error)),
        error,
      )
      assert.equal(await ledger.once(error.message, () => 'sent'), 'sent')
    }
    const invalidUrl = await fetch('/charges').catch((error: unknown) => error)
    await assert.rejects(
      ledger.once('url', () => Promise.reject(invalidUrl)),
      /parse URL/,
    )
    assert.equal(await ledger.once('url', () => 'sent'), 'sent')
    const hangUp = new Error('socket hang up')
    await assert.rejects(
      ledger.once('hang up', () => Promise.reject(hangUp)),
      hangUp,
    )
    await assert.rejects(ledger.once('hang up', assert.fail), unknown)
  })

  test('makes a call once if several begin it at the same time, in one process and in two', async (t) => {
    const { open } = await start(t)
    const ledgers = [open(), open()]
    let calls = 0
    const call = async () => {
      await new Promise((resolve) => setImmediate(resolve))
      return ++calls
    }
    const all = ledgers.flatMap((ledger) => [ledger.once('k', call), ledger.once('k', call)])
    const outcomes = await Promise.allSettled(all)
    assert.equal(calls, 1)
    const results = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []))
    assert.deepEqual([...new Set(results)], [1])
  })

  test('is restored from pending_calls.jsonl on a new store', async (t) => {
    const { open, onFreshStore, logs } = await start(t)
    await open().once('done', () => 1)
    await begin(open(), 'half')
    const time = '2020-01-01T00:00:00.000Z'
    await logs.call({ key: 'old', time, by: 'x', state: 'done', result: 1 })
    const ledger = (await onFreshStore())()
    await ledger.restore(logs.newestCalls())
    assert.equal(await ledger.once('done', assert.fail), 1)
    await assert.rejects(ledger.once('half', assert.fail), unknown)
    assert.equal(await ledger.once('old', () => 'again'), 'again')
  })
})
