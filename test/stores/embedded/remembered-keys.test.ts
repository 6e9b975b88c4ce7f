import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { makeId } from '../../../src/core/message-id.ts'
import { openDatabase } from '../../../src/stores/embedded/database.ts'
import { createKeyFilter } from '../../../src/stores/embedded/key-filter.ts'
import { createKeyTable } from '../../../src/stores/embedded/key-table.ts'
import { createRememberedKeys, KEY_AGE } from '../../../src/stores/embedded/remembered-keys.ts'
import { createWriter } from '../../../src/stores/embedded/writer.ts'
import fc from '../../fixtures/fast-check.ts'
import { noWal, withDir } from './kit.ts'

/** Tables of 64 slots, so that a few dozen keys drive every phase. */
const BITS = 6

function openKeys(db: DatabaseSync) {
  const writer = createWriter(db, 'test', noWal)
  return { writer, keys: createRememberedKeys(db, writer, BITS) }
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
        await writer.write(() => keys.remember(keys.hash('event', 't', `${n}`), makeId(1_000, n)))
        assert.ok(Number(count(db, 'key_tail')) <= 2 ** BITS)
      }
      assert.ok(Number(count(db, 'key_index')) >= 900)
      db.close()
    })
  })

  test('a process that dies again and again before its keys have moved still opens', async () => {
    await withDir(async (dir) => {
      const db = openDatabase(dir)
      for (let life = 0; life < 12; life++) {
        const { writer, keys } = openKeys(db)
        await writer.write(() => {
          for (let n = 0; n < 20; n++) keys.remember(keys.hash('job', 'q', `${life} ${n}`), makeId(1_000, n))
        })
      }
      const { keys } = openKeys(db)
      for (let life = 0; life < 12; life++) assert.ok(keys.find(keys.hash('job', 'q', `${life} 19`), 1_000))
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
      const now = KEY_AGE + 5_000
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

test('the filter knows every key that was added, and hardly any other', () => {
  const filter = createKeyFilter(20)
  const hashOf = (n: number) => hash('sha256', `${n}`, 'buffer').subarray(0, 16)
  for (let n = 0; n < 10_000; n++) filter.add(hashOf(n))
  let wrong = 0
  for (let n = 0; n < 10_000; n++) {
    assert.ok(filter.mayHave(hashOf(n)))
    if (filter.mayHave(hashOf(n + 1_000_000))) wrong++
  }
  assert.ok(wrong < 20, `${wrong} of 10,000`)
})

describe('the table of keys', () => {
  test('taking back additions leaves the others findable, also where they share slots', () => {
    const sameSlot = (n: number) => Uint8Array.of(0, 0, 0, 0, n, 0, 0, 0)
    const table = createKeyTable(4, 100)
    table.add(sameSlot(1), 101)
    table.keep()
    table.add(sameSlot(2), 102)
    table.add(sameSlot(1), 103)
    table.undo(2)
    assert.deepEqual(table.candidates(sameSlot(1)), [101])
    assert.deepEqual(table.candidates(sameSlot(2)), [])
    assert.equal(table.size, 1)
  })

  test('it refuses what would leave no free slot', () => {
    const table = createKeyTable(2, 0)
    for (let n = 1; n <= 3; n++) table.add(Uint8Array.of(n, 0, 0, 0, n, 0, 0, 0), n)
    assert.throws(() => table.add(Uint8Array.of(9, 0, 0, 0, 9, 0, 0, 0), 4), RangeError)
    assert.deepEqual(table.candidates(Uint8Array.of(7, 0, 0, 0, 7, 0, 0, 0)), [])
  })
})
