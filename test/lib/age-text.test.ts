import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ageText, elapsedText } from '../../src/lib/age-text.ts'

test('a time that has passed is rounded down', () => {
  const minutes = [59.99, 119.99, 2.6 * 1_440, 9.99 * 1_440, 12.9 * 1_440]
  assert.deepEqual(
    minutes.map((each) => elapsedText(each * 60_000)),
    ['59 min', '119 min', '2.6 d', '9.9 d', '12 d'],
  )
  assert.equal(elapsedText(-5_000), '0 s')
})

test('a duration keeps its unit until two of the next larger unit have passed, and is rounded', () => {
  const ages = [
    ...[0, 999, 1_000, 59_400, 89_900, 119_400, 120_100, 150_000, 151_000],
    ...[3_601_000, 5_400_000, 7_140_000, 7_201_000, 42.4 * 3_600_000, 2.7 * 86_400_000],
    // One hour apart.
    ...[59.5 * 3_600_000, 60.5 * 3_600_000, 72.1 * 3_600_000, 10.4 * 86_400_000],
  ]
  assert.deepEqual(ages.map(ageText), [
    ...['0 s', '1 s', '1 s', '59 s', '90 s', '119 s', '2 min', '3 min', '3 min'],
    ...['60 min', '90 min', '119 min', '2 h', '42 h', '2.7 d'],
    ...['2.5 d', '2.5 d', '3 d', '10 d'],
  ])
})

test('an age of whole units uses the largest, and a time in the future has the age 0 s', () => {
  assert.deepEqual([60_000, 3_600_000, 86_400_000, 5_400_000].map(ageText), ['1 min', '1 h', '1 d', '90 min'])
  assert.equal(ageText(-5_000), '0 s')
})

test('an age has minutes from two hours to a day, rounded down', () => {
  const minutes = [119.9, 120, 121.9, 170.5, 1_439.9, 1_440, 2_900]
  assert.deepEqual(
    minutes.map((each) => elapsedText(each * 60_000)),
    ['119 min', '2 h', '2 h 1 min', '2 h 50 min', '23 h 59 min', '1 d', '2 d'],
  )
})
