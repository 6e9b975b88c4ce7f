import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Json } from '../../src/core/json.ts'
import { applyPatch, diff } from '../../src/features/documents/patch.ts'
import type { Operation } from '../../src/features/documents/spec.ts'
import fc from '../fixtures/fast-check.ts'

const json = fc.jsonValue({ maxDepth: 4 }).map((value): Json => JSON.parse(JSON.stringify(value)))

describe('a patch', () => {
  test('applied to the value before gives the value after', () => {
    fc.assert(
      fc.property(json, json, (before, after) => {
        const steps: Operation[] = JSON.parse(JSON.stringify(diff(before, after)))
        assert.deepEqual(applyPatch(JSON.parse(JSON.stringify(before)), steps), after)
      }),
      { numRuns: 1000 },
    )
  })

  test('that does not fit is refused', () => {
    const document = { list: [1], name: 'a' }
    const steps: Operation[] = [
      { op: 'remove', path: '' },
      { op: 'remove', path: '/gone' },
      { op: 'replace', path: '/gone', value: 1 },
      { op: 'add', path: '/gone/deeper', value: 1 },
      { op: 'add', path: '/name/0', value: 1 },
      { op: 'add', path: '/list/2', value: 1 },
      { op: 'add', path: '/list/-1', value: 1 },
      { op: 'replace', path: '/list/1', value: 1 },
      { op: 'remove', path: '/list/x' },
      { op: 'remove', path: '/toString' },
      { op: 'add', path: '/__proto__', value: { admin: true } },
    ]
    for (const step of steps) {
      assert.throws(() => applyPatch(structuredClone(document), [step]), /does not fit/, JSON.stringify(step))
    }
  })

  test('that removes or inserts the first item of a long list has one step', () => {
    const list = Array.from({ length: 1000 }, (_, id) => ({ id }))
    assert.deepEqual(diff(list, list.slice(1)), [{ op: 'remove', path: '/0' }])
    assert.deepEqual(diff(list.slice(1), list), [{ op: 'add', path: '/0', value: { id: 0 } }])
  })
})
