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
    /**
     * Inserts a name, and records in `settled` that it resolved, or with which error it rejected.
     */
    add: (name: string, write = writer.write) =>
      write(() => insert.run(name)).then(
        () => settled.push(name),
        (error) => settled.push(`${name}: ${error.code}`),
      ),
  }
}

describe('group commit', () => {
  test('refuses writes to a full disk with store_unavailable, and accepts them once there is space', async (t) => {
    const { db, writer, insert, names } = await open(t)
    await writer.write(() => insert('before'))
    // As on a full disk, SQLite fails with SQLITE_FULL when the file would have to grow.
    const pages = Number(db.prepare('PRAGMA page_count').get()?.page_count)
    db.exec(`PRAGMA max_page_count = ${pages + 4}`)
    const large = () => writer.write(() => insert('x'.repeat(1_000_000)))
    const sameTurn = writer.write(() => insert('same turn'))
    for (const write of [large(), sameTurn])
      await assert.rejects(write, { code: 'store_unavailable', retryable: true })
    await writer.write(() => insert('small'))
    db.exec('PRAGMA max_page_count = 1000000')
    await large()
    assert.deepEqual(names(), ['before', 'small', 'x'.repeat(1_000_000)])
  })
})

describe('the flush of the log', () => {
  /** Flushes that the test ends, because the time that a disk takes cannot be controlled. */
  function heldFlushes() {
    const flushes: { end(): void; fail(error: Error): void }[] = []
    const flush = () => new Promise<void>((resolve, reject) => flushes.push({ end: resolve, fail: reject }))
    return { flush, flushes }
  }

  /**
   * Waits until the writes of this turn are committed, and promises that depend on them are
   * settled.
   */
  async function turns(): Promise<void> {
    for (let count = 0; count < 3; count++) await turn()
  }

  test('delays the results and signals of the writes that it covers, and no others', async (t) => {
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

  test('rejects the writes that it covers, and all later ones, if it fails', async (t) => {
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

test('a key stays unique within one turn, even with a failing call in between', async (t) => {
  await withStore(temporaryDir(t), async (store) => {
    const [first, invalid, second] = await Promise.allSettled([
      store.journal.accept([saying('1', { key: 'k' })]),
      // @ts-expect-error a transport that breaks the contract: SQLite cannot store this gateway
      store.journal.accept([saying('2', { key: 'x', gateway: {} })]),
      store.journal.accept([saying('3', { key: 'k' })]),
    ])
    assert.equal(invalid.status, 'rejected')
    assert.ok(first.status === 'fulfilled' && second.status === 'fulfilled')
    assert.equal(second.value[0]?.id, first.value[0]?.id)
    assert.equal((await store.stats()).journal.messages, 1)
  })
})

describe('work of another connection', () => {
  test('runs while no write does; writes of that time follow, and so does the end of the writer', async (t) => {
    const { writer, settled, add } = await open(t, noFlush)
    const work = Promise.withResolvers<void>()
    add('before')
    const held = writer.hold(() => work.promise)
    add('meanwhile')
    const closed = writer.close().then(() => settled.push('closed'))
    for (let count = 0; count < 5; count++) await turn()
    assert.deepEqual(settled, [])
    work.resolve()
    await Promise.all([held, closed])
    assert.deepEqual(settled, ['before', 'meanwhile', 'closed'])
  })

  test('that fails does not hold writes back', async (t) => {
    const { writer } = await open(t, noFlush)
    await assert.rejects(
      writer.hold(() => Promise.reject(new Error('database or disk is full'))),
      /disk is full/,
    )
    assert.equal(await writer.write(() => 1), 1)
  })
})
