import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextAttempt } from '../../src/engine/next-attempt.ts'

const MINUTE = 60_000

test('the next attempt has its number, and the shortest and longest pause after it if it fails too', () => {
  const retry = { attempts: 4, backoff: 'exponential', delay: 20 * MINUTE, maxDelay: 70 * MINUTE } as const
  assert.deepEqual(nextAttempt({ retry }, 1), {
    number: 2,
    of: 4,
    pause: { least: 20 * MINUTE, most: 40 * MINUTE },
  })
  assert.deepEqual(nextAttempt({ retry }, 2).pause, { least: 35 * MINUTE, most: 70 * MINUTE })
  assert.deepEqual(nextAttempt({ retry }, 3), { number: 4, of: 4 })
  const fixed = { ...retry, backoff: 'fixed' } as const
  assert.deepEqual(nextAttempt({ retry: fixed }, 2).pause, { least: 10 * MINUTE, most: 20 * MINUTE })
})
