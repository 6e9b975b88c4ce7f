import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HOUR, MINUTE } from '../../src/core/units.ts'
import { createRefusalTally, type RefusalCount } from '../../src/engine/refusal-tally.ts'
import { pauseTroubles } from '../../src/features/troubles/pause-troubles.ts'
import { refusalCheck } from '../../src/features/troubles/refusal-check.ts'
import { refusalTroubles, withRefusals } from '../../src/features/troubles/refusal-troubles.ts'
import { defined } from '../../src/lib/defined.ts'

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
  const head =
    /^90 of 90 deliveries since 2026-11-29 05:14 UTC refused, 59 in the last hour \(signature_invalid\)/
  assert.match(textOf(clock.now), head)
  assert.match(textOf(clock.now - HOUR), /^90 of 90 deliveries since 05:14 UTC refused \(/)
})

test('refusals that are over are said to be over, and are no trouble after 15 minutes', () => {
  const clock = { now: Date.UTC(2026, 10, 29, 5, 14) }
  const tally = createRefusalTally(() => clock.now)
  tally.accepted('payments', 5)
  for (let minute = 0; minute < 20; minute++) {
    tally.refused('payments', 'signature_invalid', { from: '127.0.0.1', why: 'it does not match' })
    clock.now += MINUTE
  }
  const found = () => refusalTroubles(tally.list(), clock.now)
  const [before] = found()
  assert.equal(before?.severity, 'error', 'all since they began')
  clock.now += MINUTE
  tally.accepted('payments', 3)
  const [after] = found()
  assert.partialDeepStrictEqual(after, {
    key: before?.key,
    severity: 'info',
    title: 'Gateway payments accepts deliveries again',
  })
  assert.match(
    String(after?.text),
    /^The last refusal was at 05:33 UTC, the last accepted delivery at 05:35 UTC\. 20 of 20 deliveries from 05:14 UTC to 05:33 UTC refused \(/,
  )
  assert.deepEqual(withRefusals([{ name: 'payments', ok: true }], after ? [after] : []), [
    { name: 'payments', ok: true, recovered: 'accepts deliveries again' },
  ])
  clock.now += 14 * MINUTE
  assert.deepEqual(found(), [])
  const [recovered] = withRefusals([{ name: 'payments', ok: true }], [], tally.list())
  assert.equal(recovered?.recovered, 'accepts deliveries again', 'as long as the refusals are shown')
  clock.now += HOUR
  const [calm] = withRefusals([{ name: 'payments', ok: true }], [], tally.list())
  assert.equal(calm?.recovered, undefined)
})

test('refusals from before a change of the gateway are a note, and no failed check', async () => {
  const clock = { now: Date.UTC(2026, 10, 29, 5, 14) }
  const tally = createRefusalTally(() => clock.now)
  for (let n = 0; n < 12; n++)
    tally.refused('payments', 'signature_invalid', { from: '127.0.0.1', why: 'it does not match' })
  const found = () => refusalTroubles(tally.list(), clock.now)
  assert.equal(found()[0]?.severity, 'error')
  clock.now += MINUTE
  tally.changed('payments')
  const [note] = found()
  assert.partialDeepStrictEqual(note, {
    severity: 'info',
    title: 'Gateway payments was changed, and has accepted nothing since',
  })
  assert.match(
    String(note?.text),
    /^It was changed at 05:15 UTC, after the last refusal; nothing was delivered since\. 12 of 12/,
  )
  assert.deepEqual(withRefusals([{ name: 'payments', ok: true }], found(), tally.list()), [
    { name: 'payments', ok: true, changed: 'changed, and has accepted nothing since' },
  ])
  const checked = { counts: tally.list(), withLastGood: async (count: RefusalCount) => count, at: clock.now }
  assert.equal(await refusalCheck('payments', checked), undefined)
  tally.refused('payments', 'signature_invalid', {})
  assert.equal(found()[0]?.severity, 'error')
})

test('the check of a gateway knows what was accepted before the start of the daemon', async () => {
  const clock = { now: Date.UTC(2026, 10, 29, 5, 14) }
  const tally = createRefusalTally(() => clock.now)
  for (let n = 0; n < 12; n++) tally.refused('courier', 'signature_invalid', { why: 'it does not match' })
  const detailWith = async (lastGoodAt?: number) => {
    const withLastGood = async (count: RefusalCount) => ({ ...count, ...defined({ lastGoodAt }) })
    const check = await refusalCheck('courier', { counts: tally.list(), withLastGood, at: clock.now })
    return String(check?.detail)
  }
  assert.match(await detailWith(), /No delivery was ever accepted/)
  assert.match(await detailWith(clock.now - 20 * MINUTE), /Earlier deliveries were accepted/)
})

test('the entry of conversations that people took over says which, by whom, and how many messages wait', () => {
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
