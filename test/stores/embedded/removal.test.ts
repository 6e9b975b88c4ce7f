import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRemoval } from '../../../src/stores/embedded/removal.ts'

test('any number of messages can be removed in one call', () => {
  const sql = { get: () => undefined, all: () => [], run: () => 0 }
  const counts: number[] = []
  const counters = { add: (_: string, by: number) => void counts.push(by), get: () => 0 }
  const removal = createRemoval({ sql, counters, ready: { skipRemoved() {} } } as never)
  const seqs = Array.from({ length: 300_000 }, (_, seq) => seq + 1)
  assert.equal(removal.messages(seqs, false), seqs.length)
  assert.deepEqual(counts, [-seqs.length])
})
