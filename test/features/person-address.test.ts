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

test('identities may be in one text, with commas between them; a comma in quotes is of an address', () => {
  const identitiesIn = (...identity: string[]) => people.erase.parse({ identity }).identity
  assert.deepEqual(identitiesIn('marta@example.com,team:U024BE7LH'), [
    '*:marta@example.com',
    'team:U024BE7LH',
  ])
  assert.deepEqual(identitiesIn('marta@example.com,', 'team:U7'), ['*:marta@example.com', 'team:U7'])
  assert.deepEqual(identitiesIn('"a,b"@example.com'), ['*:"a,b"@example.com'])
  assert.deepEqual(identitiesIn('support:"a,b"@example.com, shop:c@d.example'), [
    'support:"a,b"@example.com',
    'shop:c@d.example',
  ])
  assert.deepEqual(identitiesIn('shop:Novak, Petra'), ['shop:Novak, Petra'])
  // Neither an address nor an identity: it would find nobody.
  assert.throws(
    () => identitiesIn('marta@example.com,U024BE7LH'),
    /"U024BE7LH\W+ is none: expected <gateway>/,
  )
  assert.throws(
    () => identitiesIn(Array.from({ length: 101 }, (_, at) => `shop:${at}`).join()),
    /at most 100/,
  )
})

test('an address may be pasted with its name, or as a link', () => {
  const identityOf = (identity: string) => people.count.parse({ identity }).identity
  for (const pasted of [
    'Marta Lind <marta@example.com>',
    'Lind, Marta <marta@example.com>',
    '"Lind, Marta" <marta@example.com>',
    'mailto:marta@example.com?subject=Hello',
  ])
    assert.deepEqual(identityOf(pasted), ['*:marta@example.com'], pasted)
  assert.deepEqual(identityOf('Marta <marta@example.com>, Bo <bo@example.com>'), [
    '*:marta@example.com',
    '*:bo@example.com',
  ])
  assert.deepEqual(identityOf('shop:Marta <marta@example.com>'), ['shop:Marta <marta@example.com>'])
})
