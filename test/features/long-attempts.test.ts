import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MINUTE } from '../../src/core/units.ts'
import { createUsualDurations } from '../../src/engine/usual-durations.ts'
import { longAttemptTrouble } from '../../src/features/troubles/long-attempt-trouble.ts'

const running = { road: 'dispatch', gateway: 'cli', route: 'ledger', since: 0, count: 1 }
/** `minutes`: how long the attempt has run. `longest`: the longest recent one of its route. */
const isTrouble = (minutes: number, longest?: number) =>
  longAttemptTrouble({ ...running, ...(longest && { longest: longest * MINUTE }) }, minutes * MINUTE).length >
  0

test('an attempt that runs for much longer than those before it is a trouble', () => {
  assert.ok(isTrouble(6), 'more than 5 minutes, and no other one is known')
  assert.ok(!isTrouble(4), 'less than 5 minutes')
  assert.ok(isTrouble(11, 0.05), 'more than 10 minutes, and than 5 times the longest')
  assert.ok(!isTrouble(9, 0.05), 'less than 10 minutes')
  assert.ok(!isTrouble(21, 8), 'less than 5 times the longest')
  assert.ok(isTrouble(31, 25), 'more than 30 minutes')
  const [found] = longAttemptTrouble({ ...running, longest: 3_000 }, 21 * MINUTE)
  assert.equal(found?.code, 'attempt-hangs')
  assert.match(String(longAttemptTrouble(running, 6 * MINUTE)[0]?.text), /no earlier attempt to compare/)
  assert.match(String(found?.title), /route ledger/)
  assert.match(String(found?.text), /took 3 seconds/)
})

test('an attempt is compared with the earlier runs of its skill', () => {
  const isLong = (minutes: number, usual: { runs: number; p95: number }, longest?: number) =>
    longAttemptTrouble({ ...running, skill: 'export', usual, longest }, minutes * MINUTE).length > 0
  assert.ok(isLong(6, { runs: 20, p95: 12_000 }), 'more than 5 minutes, and than 10 times the p95')
  assert.ok(!isLong(4, { runs: 20, p95: 12_000 }), 'less than 5 minutes')
  assert.ok(!isLong(6, { runs: 20, p95: MINUTE }), 'less than 10 times the p95')
  assert.ok(!isLong(6, { runs: 2, p95: 12_000 }), 'two runs say little')
  const usual = { runs: 20, p95: 12_000 }
  const [found] = longAttemptTrouble(
    { ...running, skill: 'export', usual, messageId: 'm1', timeoutAt: 60 * MINUTE },
    6 * MINUTE,
  )
  assert.equal(found?.title, 'An attempt for the skill export runs for unusually long')
  assert.match(
    found?.text ?? '',
    /95 % of its last 20 runs took at most 12 seconds\. Its timeout ends it at 01:00 UTC/,
  )
  assert.partialDeepStrictEqual(found?.where, { skill: 'export', messageId: 'm1' })
})

test('the longest recent attempt is known for each route, and forgotten after many shorter ones', () => {
  const usual = createUsualDurations()
  assert.equal(usual.longest('ledger'), undefined)
  usual.ended('ledger', 60_000)
  usual.ended('orders', 100)
  usual.ended('ledger', 1_000)
  const longest = Number(usual.longest('ledger'))
  assert.ok(longest > 50_000 && longest <= 60_000)
  for (let n = 0; n < 300; n++) usual.ended('ledger', 1_000)
  assert.equal(usual.longest('ledger'), 1_000)
})
