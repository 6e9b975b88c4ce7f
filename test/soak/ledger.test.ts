import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLedger } from './ledger.ts'

test('a ledger lists the messages that a reader missed or got twice', () => {
  const ledger = createLedger()
  for (const id of ['a', 'b', 'c']) ledger.promise(id)
  for (const id of ['a', 'b', 'c', 'not promised']) ledger.had('complete', id)
  for (const id of ['a', 'b', 'b']) ledger.had('faulty', id)
  assert.deepEqual(ledger.misses(['complete', 'faulty', 'silent']), [
    { reader: 'faulty', lost: ['c'], twice: ['b'] },
    { reader: 'silent', lost: ['a', 'b', 'c'], twice: [] },
  ])
})
