import assert from 'node:assert/strict'
import { test } from 'node:test'
import { frozenSearch } from '../../src/lib/frozen-search.ts'

const NOW = Date.parse('2026-11-30T12:00:00Z')

test('the times of a search mean the same later', () => {
  const frozen = (search: string) => frozenSearch(search, NOW)
  assert.equal(
    frozen('gateway:shop after:"yesterday 18-24" refund'),
    'gateway:shop after:2026-11-29T18:00:00Z refund before:2026-11-30T00:00:00Z',
  )
  assert.equal(frozen('after:2h'), 'after:2026-11-30T10:00:00Z before:2026-11-30T12:00:00Z')
  assert.equal(
    frozen('since:"yesterday 14:00" until:15:00'),
    'after:2026-11-29T14:00:00Z before:2026-11-29T15:00:00Z',
  )
  assert.equal(frozen('before:yesterday'), 'before:2026-11-29T00:00:00Z')
  for (const same of ['', 'refund', '"after:2h"', 'after:2026-11-29', 'after:nonsense', 'not-after:2h'])
    assert.equal(frozen(same), same)
})
