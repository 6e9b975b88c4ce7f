import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { openDatabase } from '../../../src/stores/embedded/database.ts'
import { createSignals } from '../../../src/stores/embedded/parts.ts'
import { createWriter } from '../../../src/stores/embedded/writer.ts'
import { saying, silent } from '../../contract/store/kit.ts'
import { noFlush, temporaryDir, withStore } from './kit.ts'

async function open(t: TestContext, flush = noFlush) {
  const db = openDatabase(temporaryDir(t))
  t.after(() => db.close())
  const writer = createWriter(db, 'test', flush)
  const insert = db.prepare('INSERT INTO gateway (name) VALUES (?)')
  const rows = db.prepare('SELECT name FROM gateway ORDER BY id')
  const settled: string[] = []
  return {
    db,
    writer,
    settled,
    insert: (name: string) => insert.run(name),
    names: () => rows.all().map(({ name }) => name),
    /** Inserts a name, and notes when and how that was answered. */
    add: (name: string, write = writer.write) =>
      write(() => insert.run(name)).then(
        () => settled.push(name),
        (error) => settled.push(`${name}: ${error.code}`),
      ),
  }
}

describe('group commit', () => {
  test('a full disk refuses with store_unavailable, keeps what was there, and is over when there is room', async (t) => {
    const { db, writer, insert, names } = await open(t)
    await writer.write(() => insert('before'))
    // What a full disk looks like to SQLite: SQLITE_FULL when the file would have to grow.
    const pages = Number(db.prepare('PRAGMA page_count').get()?.page_count)
    db.exec(`PRAGMA max_page_count = ${pages + 4}`)
    const large = () => writer.write(() => insert('x'.repeat(1_000_000)))
    for (const each of await Promise.allSettled([large(), writer.write(() => insert('same turn'))])) {
      assert.ok(each.status === 'rejected')
      assert.deepEqual([each.reason.code, each.reason.retryable], ['store_unavailable', true])
    }
    await writer.write(() => insert('small'))
    db.exec('PRAGMA max_page_count = 1000000')
    await large()
    assert.deepEqual(names(), ['before', 'small', 'x'.repeat(1_000_000)])
  })
})

describe('the flush of the log', () => {
  /** Flushes that end when the test says so: how long a disk takes cannot be provoked otherwise. */
  function heldFlushes() {
    const flushes: { end(): void; fail(error: Error): void }[] = []
    const flush = () => new Promise<void>((resolve, reject) => flushes.push({ end: resolve, fail: reject }))
    return { flush, flushes }
  }

  /** What was asked for in this turn is committed after it, and what was settled is seen. */
  async function turns(): Promise<void> {
    for (let each = 0; each < 3; each++) await turn()
  }

  test('holds back the answers and the signals of what it covers, and no others', async (t) => {
    const { flush, flushes } = heldFlushes()
    const { writer, settled, add } = await open(t, flush)
    const signals = createSignals(writer, silent)
    signals.on('journal', () => settled.push('signal'))
    add('a')
    writer.write(() => signals.raise('journal'))
    await turns()
    assert.deepEqual(settled, [])
    add('repeatable', writer.writeRepeatable)
    await turns()
    assert.deepEqual(settled, ['repeatable'])
    flushes[0]?.end()
    await turns()
    assert.deepEqual(settled.sort(), ['a', 'repeatable', 'signal'])
    assert.equal(flushes.length, 1)
  })

  test('that fails refuses what it covered and all that follows', async (t) => {
    const { flush, flushes } = heldFlushes()
    const { writer, settled, add } = await open(t, flush)
    add('a')
    await turns()
    add('b')
    flushes[0]?.fail(new Error('EIO: i/o error, fdatasync'))
    await turns()
    await assert.rejects(writer.write(flush), { code: 'store_unavailable', message: /EIO.*restart/ })
    assert.deepEqual(settled, ['a: store_unavailable', 'b: store_unavailable'])
    await writer.close()
    assert.equal(flushes.length, 1)
  })
})

test('messages of one turn that repeat a key with a failing call between them stay one message', async (t) => {
  await withStore(temporaryDir(t), async (store) => {
    const [a, bad, b] = await Promise.allSettled([
      store.journal.accept([saying('1', { key: 'k' })]),
      // @ts-expect-error a transport that breaks the contract: no text can be stored for this gateway
      store.journal.accept([saying('2', { key: 'x', gateway: {} })]),
      store.journal.accept([saying('3', { key: 'k' })]),
    ])
    assert.equal(bad.status, 'rejected')
    assert.ok(a.status === 'fulfilled' && b.status === 'fulfilled')
    assert.equal(b.value[0]?.id, a.value[0]?.id)
    assert.equal((await store.stats()).journal.messages, 1)
  })
})
