import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EventState } from '../../src/features/push/event-state.ts'
import { withDeliveries } from '../../src/features/push/message-deliveries.ts'

const message = { id: 'm' }
const failed = { at: 2, attempt: 2, reason: 'it answered 503', nextAt: 9 }

test('the group of a push has the state of its delivery, and other groups stay as they are', async () => {
  const withdrawn = { at: 9, by: 'ada' }
  const states: Record<string, EventState> = {
    fails: { state: 'retrying', nextAt: 9 },
    recovered: { state: 'delivered', at: 1 },
    dead: { state: 'dead', deadLetter: 'push/dead/m' },
    idle: { state: 'unread', held: 'failing', nextAt: 9 },
    behind: { state: 'queued' },
    replayed: { state: 'waiting', since: 5, job: 'job-1' },
    withdrawn: { state: 'withdrawn', ...withdrawn },
    passed: { state: 'read', mayHaveFailed: false },
  }
  const shown = {
    message,
    // A push may be past an event that it has not sent.
    events: ['audit', ...Object.keys(states)].map((group) => ({ group, state: 'read' })),
    pushes: [
      { subscription: 'fails', attempt: 1, at: 1, reason: 'it answered 503' },
      { subscription: 'recovered', attempt: 1, at: 1, status: 204 },
      { subscription: 'fails', ...failed },
      { subscription: 'recovered', attempt: 1, at: 2, reason: 'it answered 503', withdrawn },
      { subscription: 'dead', attempt: 1, at: 1, reason: 'it answered 400', isDead: true },
      { subscription: 'withdrawn', attempt: 1, at: 2, reason: 'it answered 503', withdrawn },
    ],
  }
  const { events } = await withDeliveries(
    async () => shown,
    (_topic, group) => group !== 'audit',
    async (group, id, attempts) => {
      assert.equal(id, 'm')
      if (group === 'fails') assert.equal(attempts[0]?.attempt, 2)
      return states[group] ?? { state: 'unknown' }
    },
  )()
  assert.deepEqual(events, [
    { group: 'audit', state: 'read' },
    { group: 'fails', state: 'failed', push: failed },
    { group: 'recovered', state: 'delivered', push: { at: 1, attempt: 1, status: 204 } },
    { group: 'dead', state: 'dead', push: { at: 1, attempt: 1, reason: 'it answered 400' } },
    { group: 'idle', state: 'waiting', push: { held: 'failing', nextAt: 9 } },
    { group: 'behind', state: 'waiting', push: {} },
    { group: 'replayed', state: 'waiting', push: { since: 5, job: 'job-1' } },
    {
      group: 'withdrawn',
      state: 'withdrawn',
      push: { at: 2, attempt: 1, reason: 'it answered 503', withdrawn },
    },
    { group: 'passed', state: 'read', push: {} },
  ])
})
