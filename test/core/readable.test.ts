import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readable } from '../../src/core/readable.ts'

test('a number in a field such as `last` is a time only if it can be one', () => {
  assert.equal(readable({ last: 1_764_400_000_000 }), 'last: 2025-11-29 07:06:40 UTC')
  for (const id of [17, 1_764_400_000_000_000, 8_700_000_000_000_000])
    assert.equal(readable({ last: id }), `last: ${id}`)
})
