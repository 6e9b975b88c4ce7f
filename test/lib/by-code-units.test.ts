import assert from 'node:assert/strict'
import { test } from 'node:test'
import { byCodeUnits } from '../../src/lib/by-code-units.ts'

test('texts are ordered by code units, as no locale orders them', () => {
  assert.deepEqual(['b', 'ä', 'a', 'B', 'a'].sort(byCodeUnits), ['B', 'a', 'a', 'b', 'ä'])
})
