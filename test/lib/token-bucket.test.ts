import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createTokenBucket } from '../../src/lib/token-bucket.ts'
import fc from '../fixtures/fast-check.ts'

describe('a token bucket', () => {
  test('gives at most its count, plus what refills, in any window', () => {
    const rate = { count: 5, per: 100 }
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 200 }), (steps) => {
        let time = 0
        const take = createTokenBucket(rate, () => time)
        const taken: number[] = []
        for (const step of steps) {
          time += step
          if (take() === 0) taken.push(time)
        }
        for (const [index, start] of taken.entries()) {
          const inWindow = taken.slice(index).filter((at) => at < start + rate.per).length
          // A full bucket, and one refill within the window.
          assert.ok(inWindow <= rate.count * 2)
        }
      }),
    )
  })

  test('is not emptied or filled by a clock that is set back', () => {
    let time = 1_000_000
    const take = createTokenBucket({ count: 2, per: 1_000 }, () => time)
    take()
    time = 0
    assert.equal(take(), 0)
    assert.equal(take(), 500)
    time = 500
    assert.equal(take(), 0)
  })
})
