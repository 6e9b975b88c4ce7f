import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBag } from '../../src/lib/bag.ts'

test('a bag contains the items that were added and not removed, in any order', () => {
  const bag = createBag<{ at: number; name: string }>()
  const [a, b, c] = ['a', 'b', 'c'].map((name) => ({ at: 0, name }))
  assert.ok(a && b && c)
  const names = () =>
    bag
      .items()
      .map(({ name }) => name)
      .toSorted()
      .join('')
  for (const item of [a, b, c]) bag.add(item)
  bag.remove(b)
  assert.deepEqual([bag.size(), names()], [2, 'ac'])
  bag.add(b)
  bag.remove(c)
  bag.remove(a)
  assert.deepEqual([bag.size(), names()], [1, 'b'])
  bag.remove(b)
  assert.equal(bag.size(), 0)
})
