import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { z } from 'zod'
import { readStoredList, readStoredRecord } from '../../src/core/stored-entries.ts'

const schema = z.object({ at: z.number(), by: z.string().exactOptional() })

describe('stored entries of two versions', () => {
  test('of a mapping keep unknown entries and fields of a newer version when one changes', () => {
    const stored = { old: { at: 1, by: 'ada', pausedAt: 9 }, new: { at: 'monday' }, constructor: { at: 2 } }
    const { entries, isUnknown, write } = readStoredRecord(schema, stored)
    assert.deepEqual({ ...entries }, { old: { at: 1, by: 'ada' }, constructor: { at: 2 } })
    assert.deepEqual([isUnknown('new'), isUnknown('old'), isUnknown('toString')], [true, false, false])
    const { constructor: _, ...others } = entries
    assert.deepEqual(write({ ...others, old: { at: 3 }, third: { at: 4 } }), {
      old: { at: 3, pausedAt: 9 },
      third: { at: 4 },
      new: { at: 'monday' },
    })
  })

  test('of a list keep unknown entries, and unknown fields of those that did not change', () => {
    const { entries, write } = readStoredList(schema, [{ at: 1, zone: 'utc' }, { since: 1 }, { at: 2 }])
    assert.deepEqual(entries, [{ at: 1 }, { at: 2 }])
    assert.deepEqual(write([...entries.slice(0, 1), { at: 3 }]), [
      { at: 1, zone: 'utc' },
      { at: 3 },
      { since: 1 },
    ])
  })

  test('of another form are none', () => {
    assert.deepEqual({ ...readStoredRecord(schema, 'gone').entries }, {})
    assert.deepEqual(readStoredList(schema, undefined).entries, [])
  })
})
