import assert from 'node:assert/strict'
import { test } from 'node:test'
import { searchOf } from '../../src/engine/search.ts'

test('a filter and search words that name different values of one field find nothing', () => {
  const caller = { kind: 'cli' } as const
  for (const field of ['gateway', 'route', 'transport', 'conversation', 'event']) {
    const gatewaysWith = (value: string) =>
      searchOf({ [field]: 'a', search: { words: [], [field]: value } }, caller).gateways
    assert.deepEqual(gatewaysWith('b'), [], field)
    assert.deepEqual(gatewaysWith('a'), field === 'gateway' ? ['a'] : undefined, field)
  }
})
