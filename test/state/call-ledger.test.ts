import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { appendFileSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { TriviumError } from '../../src/core/errors.ts'
import { createFileCallJournal } from '../../src/state/ledger/file-journal.ts'
import { type CallLedger, createCallLedger } from '../../src/state/ledger/ledger.ts'
import { createStoreCallJournal } from '../../src/state/ledger/store-journal.ts'
import { createEmbeddedStore } from '../../src/stores/embedded/index.ts'
import { memoryDir, quiet, toEvent } from './kit.ts'

const unknown = { code: 'call_unknown' }
const never = () => new Promise<null>(() => {})

/** Each call opens the journal again, as another process would. */
function inFile(t: TestContext, options: { compactAt?: number; now?: () => number } = {}) {
  const path = join(memoryDir(t), 'pending_calls.jsonl')
  const open = () => {
    const ledger = createCallLedger(createFileCallJournal({ path, ...options }), 'test', options.now)
    t.after(() => ledger.close())
    return ledger
  }
  return { path, open }
}

async function onStore(t: TestContext) {
  const store = await createEmbeddedStore({ dir: memoryDir(t), log: quiet, toEvent })
  t.after(() => store.close())
  return () => createCallLedger(createStoreCallJournal(store.kv), 'test')
}

/** A call that was begun by a process that then died. */
async function begin(ledger: CallLedger, key: string): Promise<void> {
  await new Promise<void>((resolve) => {
    void ledger.once(key, () => {
      resolve()
      return never()
    })
  })
}

for (const [kind, start] of [
  ['a file', async (t: TestContext) => inFile(t).open],
  ['the store', onStore],
] as const) {
  describe(`Idempotency keys on every non-idempotent tool call, in ${kind}`, () => {
    test('a retry finds the result and skips the call', async (t) => {
      const open = await start(t)
      let calls = 0
      const send = async () => ({ id: `sent-${++calls}` })
      for (let i = 0; i < 2; i += 1) assert.deepEqual(await open().once('mail:1', send), { id: 'sent-1' })
      assert.deepEqual(await open().once('mail:2', send), { id: 'sent-2' })
    })

    test('one that was started and not finished is unknown and never repeated', async (t) => {
      const open = await start(t)
      await begin(open(), 'charge:7')
      for (let i = 0; i < 2; i += 1) await assert.rejects(open().once('charge:7', assert.fail), unknown)
      const left = await open().unfinished()
      assert.deepEqual(
        left.map(({ key, state }) => [key, state]),
        [['charge:7', 'started']],
      )
    })

    test('a person settles an unknown call: with its result, or as not happened', async (t) => {
      const open = await start(t)
      for (const key of ['a', 'b']) await begin(open(), key)
      const ledger = open()
      await ledger.settle({ key: 'a', happened: true, result: 'it arrived' })
      await ledger.settle({ key: 'b', happened: false, result: null })
      assert.deepEqual(await ledger.unfinished(), [])
      assert.equal(await ledger.once('a', () => 'again'), 'it arrived')
      assert.equal(await ledger.once('b', () => 'again'), 'again')
      await assert.rejects(ledger.settle({ key: 'a', happened: false, result: null }), { code: 'not_found' })
    })

    test('after an error that proves that nothing happened the call runs again; after any other it is unknown', async (t) => {
      const ledger = (await start(t))()
      const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
      for (const error of [
        new Error('fetch failed', { cause: refused }),
        new TriviumError('send_rejected'),
      ]) {
        await assert.rejects(
          ledger.once(error.message, () => Promise.reject(error)),
          error,
        )
        assert.equal(await ledger.once(error.message, () => 'sent'), 'sent')
      }
      const hangUp = new Error('socket hang up')
      await assert.rejects(
        ledger.once('b', () => Promise.reject(hangUp)),
        hangUp,
      )
      await assert.rejects(ledger.once('b', assert.fail), unknown)
    })

    test('of those that begin the same call at once one makes it, in one process and in two', async (t) => {
      const open = await start(t)
      const ledgers = [open(), kind === 'a file' ? undefined : open()]
      let calls = 0
      const call = async () => {
        await new Promise((resolve) => setImmediate(resolve))
        return ++calls
      }
      const all = ledgers.flatMap((ledger) =>
        ledger ? [ledger.once('k', call), ledger.once('k', call)] : [],
      )
      const made = await Promise.allSettled(all)
      assert.equal(calls, 1)
      const results = made.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
      assert.deepEqual([...new Set(results)], [1])
    })
  })
}

describe('pending_calls.jsonl', () => {
  test('a process that is killed leaves what it had written', async (t) => {
    const { path, open } = inFile(t)
    const source = (name: string) => JSON.stringify(join(import.meta.dirname, '../../src/state/ledger', name))
    const code = `import { createFileCallJournal } from ${source('file-journal.ts')}
      import { createCallLedger } from ${source('ledger.ts')}
      const ledger = createCallLedger(createFileCallJournal({ path: ${JSON.stringify(path)} }), 'test')
      await ledger.once('done', () => 1)
      await ledger.once('half', () => process.kill(process.pid, 'SIGKILL'))`
    spawnSync(process.execPath, ['--input-type=module', '-e', code])
    assert.equal(await open().once('done', assert.fail), 1)
    await assert.rejects(open().once('half', assert.fail), unknown)
  })

  test('a torn last line counts as not written', async (t) => {
    const { path, open } = inFile(t)
    await open().once('a', () => 1)
    appendFileSync(path, '{"key":"b","sta')
    assert.equal(await open().once('b', () => 2), 2)
    for (const line of readFileSync(path, 'utf8').trim().split('\n')) JSON.parse(line)
  })

  test('a line that is no call is an error that names the file, and nothing runs', async (t) => {
    const { path, open } = inFile(t)
    await open().once('a', () => 1)
    appendFileSync(path, 'garbage\n')
    await assert.rejects(open().once('b', assert.fail), /pending_calls\.jsonl.*garbage/)
  })

  test('compaction forgets old results, never an unfinished call', async (t) => {
    let time = Date.UTC(2026, 0, 1)
    const { path, open } = inFile(t, { compactAt: 20_000, now: () => time })
    const ledger = open()
    await begin(ledger, 'pending')
    for (let i = 0; i < 60; i += 1) {
      await ledger.once(`k${i}`, () => 'x'.repeat(1500))
      time += 86_400_000
    }
    assert.ok(statSync(path).size < 30_000, `${statSync(path).size} bytes`)
    assert.equal(await open().once('k59', assert.fail), 'x'.repeat(1500))
    assert.equal(await open().once('k3', () => 'again'), 'again')
    await assert.rejects(open().once('pending', assert.fail), unknown)
  })
})
