import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { appendFileSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { TriviumError } from '../../src/core/errors.ts'
import { createFileCallJournal } from '../../src/state/call-journal-file.ts'
import { createSharedCallJournal } from '../../src/state/call-journal-shared.ts'
import { type CallJournal, createCallLedger, didNotHappen } from '../../src/state/call-ledger.ts'
import { createEmbeddedStore } from '../../src/stores/embedded/index.ts'
import { quiet, toEvent } from './store-parts.ts'
import { temporaryDir } from './temporary.ts'

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
      const ledger = createCallLedger(open())
      await open().begin('a')
      await open().begin('b')
      await ledger.settle('a', { result: 'it arrived' })
      await ledger.settle('b', { happened: false })
      assert.equal(await ledger.once('a', () => 'again'), 'it arrived')
      assert.equal(await ledger.once('b', () => 'again'), 'again')
      await assert.rejects(ledger.settle('a', { happened: false }), { code: 'not_found' })
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
      await assert.rejects(
        ledger.once('b', () => Promise.reject(new Error('socket hang up'))),
        /hang up/,
      )
      await assert.rejects(
        ledger.once('b', () => 'sent'),
        { code: 'call_unknown' },
      )
    })

    test('of two that begin at once, in one process or two, one runs', async (t) => {
      const open = await start(t)
      const [one, two] = [createCallLedger(open()), createCallLedger(open())]
      let calls = 0
      const call = async () => {
        await new Promise((resolve) => setImmediate(resolve))
        return ++calls
      }
      const all = await Promise.allSettled([one.once('k', call), one.once('k', call), two.once('k', call)])
      assert.equal(calls, 1)
      for (const ended of all) {
        if (ended.status === 'fulfilled') assert.equal(ended.value, 1)
        else assert.equal(ended.reason.code, 'call_unknown')
      }
    })
  })
}

describeLedger('a file', async (t) => {
  const path = join(temporaryDir(t), 'pending_calls.jsonl')
  return () => {
    const journal = createFileCallJournal({ path })
    t.after(() => journal.close())
    return journal
  }
})

describeLedger('the store', async (t) => {
  const store = await createEmbeddedStore({ dir: temporaryDir(t), log: quiet, toEvent })
  t.after(() => store.close())
  return () => createSharedCallJournal({ kv: store.kv, by: 'test' })
})

describe('pending_calls.jsonl', () => {
  const make = (t: TestContext, options: { compactAt?: number; keep?: number; now?: () => number } = {}) => {
    const path = join(temporaryDir(t), 'pending_calls.jsonl')
    const open = () => {
      const journal = createFileCallJournal({ path, ...options })
      t.after(() => journal.close())
      return journal
    }
    return { path, open }
  }

  test('a process killed in the middle of a call leaves it unknown', async (t) => {
    const { path, open } = make(t)
    const source = (file: string) => JSON.stringify(join(import.meta.dirname, '../../src/state', file))
    const code = `import { createFileCallJournal } from ${source('call-journal-file.ts')}
      import { createCallLedger } from ${source('call-ledger.ts')}
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

  test('compaction forgets old results, never an unfinished call, and other processes follow', async (t) => {
    let time = Date.UTC(2026, 0, 1)
    const { path, open } = make(t, { compactAt: 20_000, keep: 1000, now: () => time })
    const [one, two] = [open(), open()]
    const ledger = createCallLedger(one)
    await two.begin('pending')
    for (let i = 0; i < 20; i += 1) await ledger.once(`k${i}`, () => 'x'.repeat(1500))
    time += 5000
    await ledger.once('last', () => 'y')
    assert.ok(statSync(path).size < 2000, `${statSync(path).size} bytes`)
    assert.equal((await two.get('last'))?.state, 'done')
    assert.equal((await two.get('pending'))?.state, 'started')
    assert.equal(await two.get('k3'), undefined)
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

  test('a refusal proves that nothing happened; a timeout does not', () => {
    assert.equal(didNotHappen(new TriviumError('send_rejected')), true)
    assert.equal(didNotHappen(new TriviumError('skill_timeout')), false)
    assert.equal(didNotHappen('text'), false)
  })
})
