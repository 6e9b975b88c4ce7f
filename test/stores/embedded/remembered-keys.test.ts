import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { makeId } from '../../../src/core/message-id.ts'
import { openDatabase } from '../../../src/stores/embedded/database.ts'
import { createRememberedKeys } from '../../../src/stores/embedded/remembered-keys.ts'
import { createSql } from '../../../src/stores/embedded/sql.ts'
import { createWriter } from '../../../src/stores/embedded/writer.ts'
import { WEEK } from '../../../src/stores/shared/values.ts'
import fc from '../../fixtures/fast-check.ts'
import { noFlush, temporaryDir } from './kit.ts'

/** So few keys in memory that a few dozen of them drive every phase. */
const CAPACITY = 32

function openKeys(db: DatabaseSync, capacity = CAPACITY) {
  const writer = createWriter(db, 'test', noFlush)
  return { writer, keys: createRememberedKeys(createSql(db), writer, capacity) }
}

/** Bytes of a page of the database. */
const PAGE = 16_384

const count = (db: DatabaseSync, table: string) => db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n

describe('remembered keys', () => {
  test('any history of transactions, failures and restarts remembers exactly what was committed', async (t) => {
    const step = fc.record({
      do: fc.constantFrom('add', 'add', 'add', 'fail', 'restart'),
      count: fc.integer({ min: 0, max: 25 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const db = openDatabase(temporaryDir(t))
        let { writer, keys } = openKeys(db)
        const find = (key: string) => keys.find(keys.hash('message', 'g', key), 1_000)
        const made = new Map<string, string>()
        let serial = 0
        for (const each of steps) {
          if (each.do === 'restart') ({ writer, keys } = openKeys(db))
          const fresh = Array.from({ length: each.count }, () => `key ${serial++}`)
          const work = writer.write(() => {
            for (const key of fresh) {
              assert.equal(find(key), undefined)
              const id = makeId(1_000, made.size + 1)
              keys.remember(keys.hash('message', 'g', key), id)
              assert.equal(find(key), id)
              if (each.do !== 'fail') made.set(key, id)
            }
            if (each.do === 'fail') throw new Error('on purpose')
          })
          if (each.do === 'fail') await assert.rejects(work, { message: 'on purpose' })
          else await work
          for (const key of fresh) assert.equal(find(key), made.get(key))
        }
        for (const [key, id] of made) assert.equal(find(key), id)
        db.close()
      }),
      { numRuns: 25 },
    )
  })

  test('a start with more keys than memory holds keeps all of them, and writes few pages', async (t) => {
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
    assert.ok(Number(count(db, 'key_index')) > 1_000, 'many did not fit')
    assert.ok(logSize() - before < 100 * PAGE, 'a page for each would be over 1,000')
    for (const [n, id] of ids.entries()) assert.equal(keys.find(hashOf(n), 1_000), id)
    db.close()
  })

  test('keys move from the tail to the index, and expired ones are swept out of that', async (t) => {
    const db = openDatabase(temporaryDir(t))
    const { writer, keys } = openKeys(db)
    const hashOf = (n: number) => keys.hash('event', 't', `${n}`)
    for (let n = 0; n < 1_000; n++) {
      await writer.write(() => keys.remember(hashOf(n), makeId(n % 2 === 0 ? 1_000 : 9_000, n)))
      assert.ok(Number(count(db, 'key_batch')) <= 2 * CAPACITY, 'a start does not read many')
    }
    assert.ok(Number(count(db, 'key_index')) >= 900)
    const now = WEEK + 5_000
    assert.equal(keys.find(hashOf(0), now), undefined)
    assert.ok((await writer.write(() => keys.sweep(now))) > 400, 'more are worth a look at once')
    for (let call = 0; call < 2; call++) assert.equal(await writer.write(() => keys.sweep(now)), 0)
    assert.ok(Number(count(db, 'key_index')) < 600)
    for (let n = 1; n < 1_000; n += 2) assert.ok(keys.find(hashOf(n), now))
    db.close()
  })
})
