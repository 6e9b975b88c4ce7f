import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pauseTroubles } from '../../src/features/troubles/pause-troubles.ts'

test('the entry of a pause says until when it lasts', () => {
  const since = Date.UTC(2026, 10, 29, 18)
  const textWith = (until?: number) => {
    const pause = {
      kind: 'gateway',
      name: 'returns',
      since,
      by: 'Ada',
      reason: 'stocktaking',
      waiting: 11,
    } as const
    return pauseTroubles([until === undefined ? pause : { ...pause, until }])[0]?.text
  }
  assert.equal(textWith(), 'By Ada: stocktaking. 11 messages wait.')
  assert.match(String(textWith(Date.UTC(2026, 10, 29, 22, 41))), /^By Ada until 22:41 UTC: stocktaking\. /)
  assert.match(String(textWith(Date.UTC(2026, 10, 30, 9))), /^By Ada until 2026-11-30 09:00 UTC: /)
})

test('the entry of a paused schedule says what the pause skips', () => {
  const effect = 'The planned time 2026-12-01 06:00 UTC is skipped.'
  const pause = { kind: 'schedule', name: 'month-end', label: 'Month end', since: 0, effect } as const
  const [found] = pauseTroubles([{ ...pause, by: 'Ada', reason: 'wait for the ledger' }])
  assert.partialDeepStrictEqual(found, {
    title: 'Schedule Month end is paused',
    text: `By Ada: wait for the ledger. ${effect}`,
    where: { schedule: 'month-end' },
  })
  assert.match(String(found?.todo), /`trivium schedule resume month-end`/)
})

test('the entry of a paused skill says what the pause does', () => {
  const effect = 'Calls by skill desk wait, with their messages, and so do approved requests.'
  const pause = { kind: 'skill', name: 'refund', since: 0, by: 'Ada', effect } as const
  for (const waiting of [undefined, 0])
    assert.equal(
      pauseTroubles([{ ...pause, ...(waiting === 0 && { waiting }) }])[0]?.text,
      `By Ada. ${effect}`,
    )
  assert.equal(pauseTroubles([{ ...pause, waiting: 2 }])[0]?.text, `By Ada. ${effect} 2 messages wait.`)
})
