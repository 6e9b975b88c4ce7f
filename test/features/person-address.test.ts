import assert from 'node:assert/strict'
import { test } from 'node:test'
import { people } from '../../src/features/person/operations.ts'

test('an address without a gateway means the person at every gateway', () => {
  const identityOf = (identity: string) => people.count.parse({ identity }).identity
  assert.deepEqual(identityOf('marta@example.com'), ['*:marta@example.com'])
  assert.deepEqual(identityOf('email:marta@example.com'), ['email:marta@example.com'])
  assert.throws(() => identityOf('marta'), /expected <gateway>:<identity>.*trivium person list marta/)
  assert.throws(() => identityOf('*@*'), /expected <gateway>:<identity>/)
})
