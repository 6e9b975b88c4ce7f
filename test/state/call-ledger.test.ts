import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { appendFileSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { TriviumError } from '../../src/core/errors.ts'
import { createFileCallJournal } from '../../src/state/ledger/file-journal.ts'
import { type CallJournal, createCallLedger } from '../../src/state/ledger/ledger.ts'
import { createStoreCallJournal } from '../../src/state/ledger/store-journal.ts'
import { createEmbeddedStore } from '../../src/stores/embedded/index.ts'
import { memoryDir, quiet, toEvent } from './kit.ts'

function describeLedger(kind: string, start: (t: TestContext) => Promise<() => CallJournal>): void {
  describe(`Idempotency keys on every non-idempotent tool call, in ${kind}`, () => {
    test('a retry finds the result and skips the call', async (t) => {
      const open = await start(t)
      let calls = 0
      const send = async () => ({ id: `sent-${++calls}` })
      assert.deepEqual(await createCallLedger(open()).once('mail:1', send), { id: 'sent-1' })
      assert.deepEqual(await createCallLedger(open()).once('mail:1', send), { id: 'sent-1' })
      assert.equal(calls, 1)
      await createCallLedger(open()).once('mail:2', send)
      assert.equal(calls, 2)
    })

    test('the call is logged before it runs', async (t) => {
      const open = await start(t)
      const ledger = createCallLedger(open())
      const seen = await ledger.once('mail:1', async () => (await ledger.unfinished()).map(({ key }) => key))
      assert.deepEqual(seen, ['mail:1'])
      assert.deepEqual(await ledger.unfinished(), [])
    })

    test('one that was started and not finished is reported as unknown and never repeated', async (t) => {
      const open = await start(t)
      await open().begin('charge:7')
      const ledger = createCallLedger(open())
      let calls = 0
      const charge = () => ++calls
      for (let i = 0; i < 2; i += 1)
        await assert.rejects(ledger.once('charge:7', charge), { code: 'call_unknown' })
      assert.equal(calls, 0)
      assert.deepEqual(
        (await ledger.unfinished()).map(({ key, state }) => [key, state]),
        [['charge:7', 'started']],
      )
    })

    test('a person settles an unknown call: with its result, or as not happened', async (t) => {
      const open = await start(t)
      const earlier = open()
      for (const key of ['a', 'b']) await earlier.begin(key)
      const ledger = createCallLedger(open())
      await ledger.settle({ key: 'a', happened: true, result: 'it arrived' })
      await ledger.settle({ key: 'b', happened: false, result: null })
      assert.equal(await ledger.once('a', () => 'again'), 'it arrived')
      assert.equal(await ledger.once('b', () => 'again'), 'again')
      await assert.rejects(ledger.settle({ key: 'a', happened: false, result: null }), { code: 'not_found' })
    })

    test('after an error that proves that nothing happened the call runs again; after any other it is unknown', async (t) => {
      const open = await start(t)
      const ledger = createCallLedger(open())
      const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
      await assert.rejects(
        ledger.once('a', () => Promise.reject(new Error('fetch failed', { cause: refused }))),
        /fetch failed/,
      )
      assert.equal(await ledger.once('a', () => 'sent'), 'sent')
      const rejected = new TriviumError('send_rejected')
      await assert.rejects(
        ledger.once('r', () => Promise.reject(rejected)),
        { code: 'send_rejected' },
      )
      assert.equal(await ledger.once('r', () => 'sent'), 'sent')
      await assert.rejects(
        ledger.once('b', () => Promise.reject(new Error('socket hang up'))),
        /hang up/,
      )
      await assert.rejects(
        ledger.once('b', () => 'sent'),
        { code: 'call_unknown' },
      )
    })

    test('of two that begin at once one runs', async (t) => {
      const ledger = createCallLedger((await start(t))())
      let calls = 0
      const call = async () => {
        await new Promise((resolve) => setImmediate(resolve))
        return ++calls
      }
      assert.deepEqual(await Promise.all([ledger.once('k', call), ledger.once('k', call)]), [1, 1])
    })
  })
}

describeLedger('a file', async (t) => {
  const path = join(memoryDir(t), 'pending_calls.jsonl')
  return () => {
    const journal = createFileCallJournal({ path })
    t.after(() => journal.close())
    return journal
  }
})

describeLedger('the store', async (t) => {
  const store = await createEmbeddedStore({ dir: memoryDir(t), log: quiet, toEvent })
  t.after(() => store.close())
  return () => createStoreCallJournal({ kv: store.kv, by: 'test' })
})

test('of two daemons that begin the same call at once, one makes it', async (t) => {
  const store = await createEmbeddedStore({ dir: memoryDir(t), log: quiet, toEvent })
  t.after(() => store.close())
  const [one, two] = ['one', 'two'].map((by) => createStoreCallJournal({ kv: store.kv, by }))
  const began = await Promise.all([one?.begin('k'), two?.begin('k')])
  assert.equal(began.filter((earlier) => earlier === undefined).length, 1)
})

describe('pending_calls.jsonl', () => {
  const make = (t: TestContext, options: { compactAt?: number; keep?: number; now?: () => number } = {}) => {
    const path = join(memoryDir(t), 'pending_calls.jsonl')
    const open = () => {
      const journal = createFileCallJournal({ path, ...options })
      t.after(() => journal.close())
      return journal
    }
    return { path, open }
  }

  test('a process killed in the middle of a call leaves it unknown', async (t) => {
    const { path, open } = make(t)
    const source = (file: string) => JSON.stringify(join(import.meta.dirname, '../../src/state/ledger', file))
    const code = `import { createFileCallJournal } from ${source('file-journal.ts')}
      import { createCallLedger } from ${source('ledger.ts')}
      const ledger = createCallLedger(createFileCallJournal({ path: ${JSON.stringify(path)} }))
      await ledger.once('done', () => 1)
      await ledger.once('half', () => process.kill(process.pid, 'SIGKILL'))`
    spawnSync(process.execPath, ['--input-type=module', '-e', code])
    const ledger = createCallLedger(open())
    assert.equal(await ledger.once('done', () => 2), 1)
    await assert.rejects(
      ledger.once('half', () => 2),
      { code: 'call_unknown' },
    )
  })

  test('a torn last line counts as not written', async (t) => {
    const { path, open } = make(t)
    await createCallLedger(open()).once('a', () => 1)
    appendFileSync(path, '{"key":"b","sta')
    const ledger = createCallLedger(open())
    assert.equal(await ledger.once('b', () => 2), 2)
    for (const line of readFileSync(path, 'utf8').trim().split('\n')) JSON.parse(line)
  })

  test('a line that is no call is an error that names the file, and nothing runs', async (t) => {
    const { path, open } = make(t)
    await createCallLedger(open()).once('a', () => 1)
    appendFileSync(path, 'garbage\n')
    await assert.rejects(
      createCallLedger(open()).once('b', () => 2),
      /pending_calls\.jsonl.*garbage/,
    )
  })

  test('compaction forgets old results, never an unfinished call', async (t) => {
    let time = Date.UTC(2026, 0, 1)
    const { path, open } = make(t, { compactAt: 20_000, keep: 1000, now: () => time })
    const ledger = createCallLedger(open())
    const pending = ledger.once('pending', () => new Promise(() => {}))
    pending.catch(() => {})
    for (let i = 0; i < 20; i += 1) await ledger.once(`k${i}`, () => 'x'.repeat(1500))
    time += 5000
    await ledger.once('last', () => 'y')
    assert.ok(statSync(path).size < 2000, `${statSync(path).size} bytes`)
    const next = open()
    assert.equal((await next.get('last'))?.state, 'done')
    assert.equal((await next.get('pending'))?.state, 'started')
    assert.equal(await next.get('k3'), undefined)
  })

  test('calls at the same time share the sync of the disk', async (t) => {
    const { open } = make(t)
    const ledger = createCallLedger(open())
    const results = await Promise.all(Array.from({ length: 500 }, (_, i) => ledger.once(`k${i}`, () => i)))
    assert.deepEqual(
      results,
      Array.from({ length: 500 }, (_, i) => i),
    )
  })
})
