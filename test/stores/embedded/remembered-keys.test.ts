import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { KEY_TTL } from '../../../src/core/lifetimes.ts'
import { makeId } from '../../../src/core/message-id.ts'
import { openDatabase } from '../../../src/stores/embedded/database.ts'
import { createRememberedKeys } from '../../../src/stores/embedded/remembered-keys.ts'
import { createSql } from '../../../src/stores/embedded/sql.ts'
import { createWriter } from '../../../src/stores/embedded/writer.ts'
import fc from '../../fixtures/fast-check.ts'
import { noFlush, temporaryDir } from './kit.ts'

/** Maximum of keys in memory, so low that a few dozen keys reach every phase. */
const CAPACITY = 32

function openKeys(db: DatabaseSync, capacity = CAPACITY) {
  const writer = createWriter(db, 'test', noFlush)
  return { writer, keys: createRememberedKeys(createSql(db), writer, capacity) }
}

/** Bytes per page of the database. */
const PAGE_BYTES = 16_384

const count = (db: DatabaseSync, table: string) => db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n

describe('remembered keys', () => {
  test('after any sequence of transactions, failures and restarts, exactly the committed keys are known', async (t) => {
    const step = fc.record({
      do: fc.constantFrom('add', 'add', 'add', 'fail', 'restart'),
      count: fc.integer({ min: 0, max: 25 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const db = openDatabase(temporaryDir(t))
        let { writer, keys } = openKeys(db)
        const find = (key: string) => keys.find(keys.hash('message', 'g', key), 1_000)
        const committed = new Map<string, string>()
        let serial = 0
        for (const each of steps) {
          if (each.do === 'restart') ({ writer, keys } = openKeys(db))
          const added = Array.from({ length: each.count }, () => `key ${serial++}`)
          const transaction = writer.write(() => {
            for (const key of added) {
              assert.equal(find(key), undefined)
              const id = makeId(1_000, committed.size + 1)
              keys.remember(keys.hash('message', 'g', key), id)
              assert.equal(find(key), id)
              if (each.do !== 'fail') committed.set(key, id)
            }
            if (each.do === 'fail') throw new Error('on purpose')
          })
          if (each.do === 'fail') await assert.rejects(transaction, { message: 'on purpose' })
          else await transaction
          for (const key of added) assert.equal(find(key), committed.get(key))
        }
        for (const [key, id] of committed) assert.equal(find(key), id)
        db.close()
      }),
      { numRuns: 25 },
    )
  })

  test('a start with more keys than fit into memory keeps all of them, and writes few pages', async (t) => {
    const dir = temporaryDir(t)
    const db = openDatabase(dir)
    const many = openKeys(db, 100_000)
    const hashOf = (n: number) => many.keys.hash('message', 'g', `${n}`)
    const ids = Array.from({ length: 4_000 }, (_, n) => makeId(1_000, n))
    await many.writer.write(() => {
      for (const [n, id] of ids.entries()) many.keys.remember(hashOf(n), id)
    })
    const logSize = () => statSync(join(dir, 'trivium.db-wal')).size
    const before = logSize()
    const { keys } = openKeys(db)
    assert.ok(Number(count(db, 'key_index')) > 1_000, 'too few keys moved to the index')
    assert.ok(logSize() - before < 100 * PAGE_BYTES, 'one page per key would be over 1,000')
    for (const [n, id] of ids.entries()) assert.equal(keys.find(hashOf(n), 1_000), id)
    db.close()
  })

  test('keys are found after more of them than a number of 32 bits can count', async (t) => {
    const db = openDatabase(temporaryDir(t))
    const first = openKeys(db)
    const hashOf = (n: number) => first.keys.hash('message', 'g', `${n}`)
    const ids = Array.from({ length: 401 }, (_, n) => makeId(1_000, n))
    await first.writer.write(() => first.keys.remember(hashOf(0), ids[0] ?? ''))
    const start = 2 ** 32 - 20
    db.exec(`UPDATE key_batch SET first = ${start}, last = ${start}`)
    const { writer, keys } = openKeys(db, 64)
    for (const [n, id] of ids.entries()) if (n > 0) await writer.write(() => keys.remember(hashOf(n), id))
    for (const [n, id] of ids.entries()) assert.equal(keys.find(hashOf(n), 1_000), id)
    assert.ok(Number(count(db, 'key_index')) > 200, 'most keys moved to the index')
    db.close()
  })

  test('keys move from batches to the index, and a sweep removes expired ones from it', async (t) => {
    const db = openDatabase(temporaryDir(t))
    const { writer, keys } = openKeys(db)
    const hashOf = (n: number) => keys.hash('event', 't', `${n}`)
    for (let n = 0; n < 1_000; n++) {
      await writer.write(() => keys.remember(hashOf(n), makeId(n % 2 === 0 ? 1_000 : 9_000, n)))
      assert.ok(Number(count(db, 'key_batch')) <= 2 * CAPACITY, 'a start reads few batches')
    }
    assert.ok(Number(count(db, 'key_index')) >= 900)
    const now = KEY_TTL + 5_000
    assert.equal(keys.find(hashOf(0), now), undefined)
    const first = await writer.write(() => keys.sweep(now))
    assert.deepEqual([first.removed > 400, first.more], [true, true])
    for (let call = 0; call < 2; call++)
      assert.deepEqual(await writer.write(() => keys.sweep(now)), { removed: 0, more: false })
    assert.ok(Number(count(db, 'key_index')) < 600)
    for (let n = 1; n < 1_000; n += 2) assert.ok(keys.find(hashOf(n), now))
    db.close()
  })
})
