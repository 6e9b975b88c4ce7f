import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HOUR, MINUTE } from '../../src/core/units.ts'
import { createRefusalTally } from '../../src/engine/refusal-tally.ts'
import { pauseTroubles } from '../../src/features/troubles/pause-troubles.ts'
import { refusalTroubles } from '../../src/features/troubles/refusal-troubles.ts'

test('refusals and their senders are counted in the same hour, and their text says which', () => {
  const clock = { now: Date.UTC(2026, 10, 29, 5, 14) }
  const tally = createRefusalTally(() => clock.now)
  for (let minute = 0; minute < 90; minute++) {
    tally.refused('payments', 'signature_invalid', { from: '127.0.0.1', why: 'it does not match' })
    clock.now += MINUTE
  }
  const [count] = tally.list()
  assert.equal(count?.from[0]?.count, count?.count)
  assert.equal(count?.why[0]?.count, count?.count)
  const textOf = (at: number) => String(refusalTroubles(count ? [count] : [], at)[0]?.text)
  assert.match(textOf(clock.now), /^59 of 59 deliveries in the last hour refused/)
  assert.match(textOf(clock.now), /The refusals began on 2026-11-29 05:14 UTC\./)
  assert.match(textOf(clock.now - HOUR), /^59 of 59 deliveries since 05:14 UTC refused/)
})

test('the entry of taken over conversations says which, by whom, and how many messages wait', () => {
  const pause = {
    kind: 'conversation',
    name: 'mail-petra',
    gateway: 'support',
    since: 0,
    waiting: 1,
  } as const
  const [found] = pauseTroubles([{ ...pause, by: 'control-token:Ingrid Aune' }])
  assert.match(String(found?.text), /support mail-petra \(Ingrid Aune, 1 message waits\)\.$/)
})
