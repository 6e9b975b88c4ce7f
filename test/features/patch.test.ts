import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import patches from 'fast-json-patch'
import type { Json } from '../../src/core/json.ts'
import { diff } from '../../src/features/documents/events.ts'
import type { Operation } from '../../src/features/documents/spec.ts'
import fc from '../fixtures/fast-check.ts'

const json = fc.jsonValue({ maxDepth: 4 }).map((value): Json => JSON.parse(JSON.stringify(value)))

describe('recorded changes', () => {
  test('replayed on what was before they give what is after', () => {
    fc.assert(
      fc.property(json, json, (before, after) => {
        const steps: Operation[] = JSON.parse(JSON.stringify(diff(before, after)))
        assert.deepEqual(
          patches.applyPatch(JSON.parse(JSON.stringify(before)), steps, true).newDocument,
          after,
        )
      }),
      { numRuns: 1000 },
    )
  })

  test('taking the first of a long list is one step', () => {
    const list = Array.from({ length: 1000 }, (_, id) => ({ id }))
    assert.deepEqual(diff(list, list.slice(1)), [{ op: 'remove', path: '/0' }])
    assert.deepEqual(diff(list.slice(1), list), [{ op: 'add', path: '/0', value: { id: 0 } }])
  })
})
