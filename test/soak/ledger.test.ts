import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLedger } from './ledger.ts'

test('a ledger names what a reader never had, and what it had again', () => {
  const ledger = createLedger()
  for (const id of ['a', 'b', 'c']) ledger.promise(id)
  for (const id of ['a', 'b', 'c', 'not promised']) ledger.had('whole', id)
  for (const id of ['a', 'b', 'b']) ledger.had('faulty', id)
  assert.deepEqual(ledger.misses(['whole', 'faulty', 'deaf']), [
    { reader: 'faulty', lost: ['c'], twice: ['b'] },
    { reader: 'deaf', lost: ['a', 'b', 'c'], twice: [] },
  ])
})
