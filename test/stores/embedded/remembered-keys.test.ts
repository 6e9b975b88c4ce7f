import assert from 'node:assert/strict'
import type { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { makeId } from '../../../src/core/message-id.ts'
import { openDatabase } from '../../../src/stores/embedded/database.ts'
import { createRememberedKeys } from '../../../src/stores/embedded/remembered-keys.ts'
import { createSql } from '../../../src/stores/embedded/sql.ts'
import { createWriter } from '../../../src/stores/embedded/writer.ts'
import { WEEK } from '../../../src/stores/shared/values.ts'
import fc from '../../fixtures/fast-check.ts'
import { noFlush, withDir } from './kit.ts'

/** So few keys in memory that a few dozen of them drive every phase. */
const CAPACITY = 32

function openKeys(db: DatabaseSync) {
  const writer = createWriter(db, 'test', noFlush)
  return { writer, keys: createRememberedKeys(createSql(db), writer, CAPACITY) }
}

const count = (db: DatabaseSync, table: string) => db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n

describe('remembered keys', () => {
  test('any history of transactions, failures and restarts remembers exactly what was committed', async () => {
    const step = fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({ do: fc.constant('add' as const), count: fc.integer({ min: 1, max: 25 }) }),
      },
      {
        weight: 2,
        arbitrary: fc.record({ do: fc.constant('fail' as const), count: fc.integer({ min: 1, max: 25 }) }),
      },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const), count: fc.constant(0) }) },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), (steps) =>
        withDir(async (dir) => {
          const db = openDatabase(dir)
          let { writer, keys } = openKeys(db)
          const made = new Map<string, string>()
          let serial = 0
          for (const each of steps) {
            if (each.do === 'restart') ({ writer, keys } = openKeys(db))
            const fresh = Array.from({ length: each.count }, () => `key ${serial++}`)
            const work = writer.write(() => {
              for (const key of fresh) {
                const hash = keys.hash('message', 'g', key)
                assert.equal(keys.find(hash, 1_000), undefined)
                const id = makeId(1_000, made.size + 1)
                keys.remember(hash, id)
                assert.equal(keys.find(hash, 1_000), id)
                if (each.do === 'add') made.set(key, id)
              }
              if (each.do === 'fail') throw new Error('on purpose')
            })
            if (each.do === 'fail') await assert.rejects(work, { message: 'on purpose' })
            else await work
            for (const key of fresh)
              assert.equal(keys.find(keys.hash('message', 'g', key), 1_000), made.get(key))
          }
          for (const [key, id] of made) assert.equal(keys.find(keys.hash('message', 'g', key), 1_000), id)
          db.close()
        }),
      ),
      { numRuns: 25 },
    )
  })

  test('keys move from the tail to the index while new ones come, and the tail stays short', async () => {
    await withDir(async (dir) => {
      const db = openDatabase(dir)
      const { writer, keys } = openKeys(db)
      for (let n = 0; n < 1_000; n++) {
        const hash = keys.hash('event', 't', `${n}`)
        await writer.write(() => keys.remember(hash, makeId(1_000, n)))
        assert.ok(Number(count(db, 'key_tail')) <= 8 * CAPACITY)
      }
      assert.ok(Number(count(db, 'key_index')) >= 900)
      db.close()
    })
  })

  test('expired keys are swept out of the index, and the young stay', async () => {
    await withDir(async (dir) => {
      const db = openDatabase(dir)
      const { writer, keys } = openKeys(db)
      const remember = (key: string, time: number) =>
        writer.write(() => keys.remember(keys.hash('message', 'g', key), makeId(time, 1)))
      for (let n = 0; n < 500; n++) await remember(`${n}`, n % 2 === 0 ? 1_000 : 9_000)
      const before = Number(count(db, 'key_index'))
      const now = WEEK + 5_000
      assert.equal(keys.find(keys.hash('message', 'g', '0'), now), undefined)
      let swept = 0
      for (let call = 0; call < 3; call++) swept += await writer.write(() => keys.sweep(now))
      assert.ok(swept > 150)
      assert.equal(Number(count(db, 'key_index')), before - swept)
      for (let n = 1; n < 500; n += 2) assert.ok(keys.find(keys.hash('message', 'g', `${n}`), now))
      db.close()
    })
  })
})
