import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import patches from 'fast-json-patch'
import type { Json } from '../../src/core/json.ts'
import { diff, type Operation } from '../../src/state/documents/patch.ts'
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

  test('a key named __proto__ is data', () => {
    const [before, after] = [
      JSON.parse('{"a":{"__proto__":{"x":1}}}'),
      JSON.parse('{"a":{"__proto__":{"x":2}}}'),
    ]
    const replayed = patches.applyPatch(before, diff(before, after), true).newDocument
    assert.equal(JSON.stringify(replayed), JSON.stringify(after))
    assert.equal(Object.hasOwn(Object.prototype, 'x'), false)
  })

  test('taking the first of a long list is one step', () => {
    const list = Array.from({ length: 1000 }, (_, id) => ({ id }))
    assert.deepEqual(diff(list, list.slice(1)), [{ op: 'remove', path: '/0' }])
    assert.deepEqual(diff(list.slice(1), list), [{ op: 'add', path: '/0', value: { id: 0 } }])
  })
})
