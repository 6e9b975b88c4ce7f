import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Note } from '../../src/core/store.ts'
import { withEnded } from '../../src/features/pauses/ended.ts'
import { heldPeriods } from '../../src/features/pauses/held-periods.ts'
import type { EndedPause, Pause } from '../../src/features/pauses/records.ts'

const RECEIVED = 100
const NOW = 1_000
/** Number of ended pauses of conversations that are kept. */
const MAX_OF_CONVERSATIONS = 100
const dispatchNote = (at: number, what: string, detail = {}): Note => ({ at, road: 'dispatch', what, detail })
const pause = (since: number, until?: number): Pause => {
  return { kind: 'gateway', name: 'shop', by: 'ada', since, ...(until !== undefined && { until }) }
}
const ended = (since: number, endedAt: number): EndedPause => ({ ...pause(since), endedAt })
const periods = (
  history: Note[],
  outcome: 'waiting' | 'approval' | 'done',
  ...pauses: EndedPause[] | Pause[]
) =>
  heldPeriods({ receivedAt: RECEIVED }, { outcome, history }, pauses, NOW).map(({ from, to }) => [from, to])

test('a pause holds a message from its arrival to its attempt, however long the pause is', () => {
  const done = [dispatchNote(310, 'done', { ms: 10 })]
  assert.deepEqual(periods(done, 'done', ended(50, 400)), [[100, 300]])
  assert.deepEqual(periods(done, 'done', ended(120, 250)), [[120, 250]])
  assert.deepEqual(periods(done, 'done', ended(10, 90), ended(305, 400)), [])
  assert.deepEqual(periods([], 'waiting', pause(50)), [[100, undefined]])
})

test('a pause during the back-off or before a decision holds a message only when an attempt is due', () => {
  const failed = [dispatchNote(210, 'failed', { ms: 10, delay: 90 }), dispatchNote(510, 'done', { ms: 10 })]
  assert.deepEqual(periods(failed, 'done', ended(220, 280)), [])
  assert.deepEqual(periods(failed, 'done', ended(220, 450)), [[300, 450]])
  const asked = [dispatchNote(110, 'waits for an approval', { ms: 10 })]
  assert.deepEqual(periods(asked, 'approval', pause(200)), [])
  assert.deepEqual(periods([...asked, dispatchNote(300, 'approved')], 'waiting', pause(200)), [
    [300, undefined],
  ])
})

test('a state keeps the pauses that ended, with who resumed them; other changes of a pause end nothing', () => {
  const state = (...pauses: Pause[]) => ({ pauses, cancels: [] })
  const resumed = withEnded(state(pause(10)), state(), 50, 'bob')
  assert.deepEqual(resumed, { ...state(), ended: [{ ...ended(10, 50), endedBy: 'bob' }] })
  assert.deepEqual(withEnded(state(pause(10, 40)), state(), 50), {
    ...state(),
    ended: [{ ...pause(10, 40), endedAt: 40 }],
  })
  const explained = state({ ...pause(10), reason: 'still down' })
  assert.deepEqual(withEnded(state(pause(10)), explained, 50, 'ada'), explained)
  // Ended pauses of conversations do not displace others.
  let all = withEnded(state(pause(10)), state(), 50, 'bob')
  for (let at = 51; at < 351; at++) {
    const talk: Pause = { kind: 'conversation', gateway: 'chat', name: `c${at}`, by: 'ada', since: at }
    all = withEnded({ ...all, pauses: [talk] }, state(), at + 1, 'ada')
  }
  assert.equal(all.ended?.length, 1 + MAX_OF_CONVERSATIONS)
  assert.equal(all.ended?.[0]?.name, 'shop')
})
