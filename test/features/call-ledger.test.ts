import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { TriviumError } from '../../src/core/errors.ts'
import { createCallLedger } from '../../src/features/calls/ledger.ts'
import { createLogs } from '../../src/features/transcript/logs.ts'
import { createEmbeddedStore } from '../../src/stores/embedded/index.ts'
import { silent, temporaryDir, toEvent } from './kit.ts'

const unknown = { code: 'call_unknown' }
const never = () => new Promise<null>(() => {})

/** Each call opens the ledger again, as another process would; what is noted goes to the log of a data dir. */
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

/** A call that was begun by a process that then died. */
async function begin(ledger: ReturnType<typeof createCallLedger>, key: string): Promise<void> {
  await new Promise<void>((resolve) => {
    void ledger.once(key, () => {
      resolve()
      return never()
    })
  })
}

describe('Idempotency keys on every non-idempotent tool call', () => {
  test('a person settles an unknown call: with its result, or as not happened', async (t) => {
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

  test('after an error that proves that nothing happened the call runs again; after any other it is unknown', async (t) => {
    const ledger = (await start(t)).open()
    const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
    for (const error of [new Error('fetch failed', { cause: refused }), new TriviumError('send_rejected')]) {
      await assert.rejects(
        ledger.once(error.message, () => Promise.reject(error)),
        error,
      )
      assert.equal(await ledger.once(error.message, () => 'sent'), 'sent')
    }
    const noCall = await fetch('/charges').catch((error: unknown) => error)
    await assert.rejects(
      ledger.once('url', () => Promise.reject(noCall)),
      /parse URL/,
    )
    assert.equal(await ledger.once('url', () => 'sent'), 'sent')
    const hangUp = new Error('socket hang up')
    await assert.rejects(
      ledger.once('b', () => Promise.reject(hangUp)),
      hangUp,
    )
    await assert.rejects(ledger.once('b', assert.fail), unknown)
  })

  test('of those that begin the same call at once one makes it, in one process and in two', async (t) => {
    const { open } = await start(t)
    const ledgers = [open(), open()]
    let calls = 0
    const call = async () => {
      await new Promise((resolve) => setImmediate(resolve))
      return ++calls
    }
    const all = ledgers.flatMap((ledger) => [ledger.once('k', call), ledger.once('k', call)])
    const made = await Promise.allSettled(all)
    assert.equal(calls, 1)
    const results = made.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
    assert.deepEqual([...new Set(results)], [1])
  })

  test('a store that knows of no call begins with what pending_calls.jsonl tells', async (t) => {
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
