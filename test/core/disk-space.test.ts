import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDiskLow } from '../../src/core/disk-space.ts'
import { GIB, MIB } from '../../src/core/units.ts'

test('a disk is low below 1 GiB, and a small one below a twentieth of its size', () => {
  const cases: [free: number, size: number, isLow: boolean][] = [
    [GIB, 100 * GIB, false],
    [GIB - 1, 100 * GIB, true],
    [60 * MIB, GIB, false],
    [50 * MIB, GIB, true],
  ]
  for (const [free, size, isLow] of cases)
    assert.equal(isDiskLow({ free, size }), isLow, `${free} of ${size}`)
})
