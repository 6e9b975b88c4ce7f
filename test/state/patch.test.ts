import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import patches from 'fast-json-patch'
import type { Json } from '../../src/core/json.ts'
import { applyPatch, diff, type Operation } from '../../src/state/documents/patch.ts'
import fc from '../fixtures/fast-check.ts'

const json = fc.jsonValue({ maxDepth: 4 }).map((value): Json => JSON.parse(JSON.stringify(value)))
const copy = (value: Json): Json => JSON.parse(JSON.stringify(value))

describe('recorded changes', () => {
  test('applied to what was before they give what is after', () => {
    fc.assert(
      fc.property(json, json, (before, after) => {
        const patch: Operation[] = JSON.parse(JSON.stringify(diff(before, after)))
        assert.deepEqual(applyPatch(copy(before), patch), after)
      }),
      { numRuns: 1000 },
    )
  })

  test('another implementation of RFC 6902 replays them to the same document', () => {
    // The other one drops keys of this name; that ours are only keys is shown below.
    const list = fc.array(json).filter((value) => !JSON.stringify(value).includes('"__proto__"'))
    fc.assert(
      fc.property(list, list, (before, after) => {
        const replayed = patches.applyPatch(copy(before), diff(before, after), false, true, false).newDocument
        assert.deepEqual(replayed, after)
      }),
      { numRuns: 500 },
    )
  })

  test('taking the first of a long list is one step', () => {
    const list = Array.from({ length: 1000 }, (_, id) => ({ id }))
    assert.deepEqual(diff(list, list.slice(1)), [{ op: 'remove', path: '/0' }])
    assert.deepEqual(diff(list.slice(1), list), [{ op: 'add', path: '/0', value: { id: 0 } }])
  })

  test('a step that does not fit is an error', () => {
    for (const path of ['/a/b', '/list/9', '/list/-1', '/missing']) {
      assert.throws(() => applyPatch({ list: [1] }, [{ op: 'remove', path }]), /does not fit/)
    }
  })

  test('keys that look like paths or prototypes are only keys', () => {
    const before: Json = JSON.parse('{"a/b~c":1,"__proto__":{"x":1}}')
    const after: Json = JSON.parse('{"a/b~c":2,"__proto__":{"x":2},"constructor":1}')
    const replayed = applyPatch(copy(before), diff(before, after))
    assert.equal(JSON.stringify(replayed), JSON.stringify(after))
    assert.equal(Object.hasOwn(Object.prototype, 'x'), false)
  })
})
