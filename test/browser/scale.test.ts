import assert from 'node:assert/strict'
import { test } from 'node:test'

const { besideLabels, capOf, highestApart, topOf } = await import(
  new URL('../../src/console/lib/scale.js', import.meta.url).href
)

const even = Array.from({ length: 60 }, (_, index) => 8 + (index % 3))

for (const [what, values, cap] of [
  ['even values fit in', even, undefined],
  ['one burst is cut off at twice the usual values', [...even, 3_000], 20],
  ['a burst of several points too', [...even, 2_000, 3_000, 900], 20],
  ['lasting growth is no burst', [...even, ...Array.from({ length: 20 }, () => 300)], undefined],
  ['a burst among few values', [42, 3_000], 84],
  ['a value alone', [0, 0, 3_000], undefined],
  ['nothing', [], undefined],
] as const)
  test(`the scale of a chart: ${what}`, () => assert.equal(capOf(values), cap))

test('a scale that is not cut has room for a burst, such as the failed attempts of a push', () => {
  const values = [...even, 141]
  assert.equal(topOf(values, { least: 4, isCut: true }), 20)
  assert.ok(topOf(values, { least: 4, isCut: false }) > 141)
  assert.equal(topOf([], { least: 4, isCut: false }), 4)
})

test('the present values always fit', () => {
  const values = [0, 0, 10, 10, 10, 121]
  assert.equal(topOf(values, { least: 4, isCut: true }), 20)
  assert.ok(topOf(values, { least: 4, isCut: true, present: [121] }) > 121)
  assert.equal(topOf([...values, 12], { least: 4, isCut: true, present: [12] }), 24)
})

test('the values of peaks do not overlap, also where the last is written left of its peak', () => {
  const marks = [
    { from: 10, to: 50, value: 5 },
    { from: 12, to: 52, value: 7 },
    { from: 100, to: 140, value: 6 },
    { from: 150, to: 190, value: 2 },
    { from: 130, to: 195, value: 1 },
  ]
  assert.deepEqual(highestApart(marks), [marks[1], marks[2], marks[3]])
})

test('a peak without a value has no triangle under the value of another', () => {
  const high = { x: 10, from: 5, to: 60, value: 9 }
  const under = { x: 40, from: 35, to: 90, value: 3 }
  const beside = { x: 70, from: 65, to: 120, value: 2 }
  assert.deepEqual(besideLabels([high, under, beside], [high], 5), [beside])
})
