import assert from 'node:assert/strict'
import { test } from 'node:test'

const { capOf, highestApart } = await import(new URL('../../src/console/lib/scale.js', import.meta.url).href)

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

test('the values of peaks that are close to each other do not overlap: the highest is written', () => {
  const marks = [
    { x: 10, value: 5 },
    { x: 12, value: 7 },
    { x: 100, value: 6 },
    { x: 130, value: 2 },
  ]
  assert.deepEqual(highestApart(marks, 48), [marks[1], marks[2]])
})
