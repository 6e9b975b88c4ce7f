import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withDeliveries } from '../../src/features/push/message-deliveries.ts'

test('the group of a push has the state of its delivery, and other groups stay as they are', async () => {
  const groups = ['audit', 'fails', 'recovered', 'dead', 'idle']
  const shown = {
    events: groups.map((group) => ({ group, state: group === 'idle' ? 'waiting' : 'read' })),
    pushes: [
      { subscription: 'fails', attempt: 1, at: 1, reason: 'it answered 503' },
      { subscription: 'recovered', attempt: 1, at: 1, reason: 'it answered 503' },
      { subscription: 'fails', attempt: 2, at: 2, reason: 'it answered 502', nextAt: 9 },
      { subscription: 'recovered', attempt: 2, at: 2, status: 204 },
      { subscription: 'dead', attempt: 1, at: 1, reason: 'it answered 400', isDead: true },
    ],
  }
  const isPush = (_topic: string, group: string) => group !== 'audit'
  const { events } = await withDeliveries(async () => shown, isPush)()
  assert.deepEqual(events, [
    { group: 'audit', state: 'read' },
    { group: 'fails', state: 'failed', push: { at: 2, attempt: 2, reason: 'it answered 502', nextAt: 9 } },
    { group: 'recovered', state: 'delivered', push: { at: 2, attempt: 2, status: 204 } },
    { group: 'dead', state: 'dead', push: { at: 1, attempt: 1, reason: 'it answered 400' } },
    { group: 'idle', state: 'waiting', push: {} },
  ])
})

test('after a cancelled replay, an event is withdrawn, or delivered if it was before', async () => {
  const withdrawn = { at: 9, by: 'ada' }
  const failed = { attempt: 1, at: 5, reason: 'it answered 503', withdrawn }
  const shown = {
    events: ['had', 'never'].map((group) => ({ group, state: 'read' })),
    pushes: [
      { subscription: 'had', attempt: 1, at: 1, status: 204 },
      { subscription: 'had', ...failed },
      { subscription: 'never', ...failed },
    ],
  }
  const { events } = await withDeliveries(
    async () => shown,
    () => true,
  )()
  assert.deepEqual(events, [
    { group: 'had', state: 'delivered', push: { at: 1, attempt: 1, status: 204 } },
    { group: 'never', state: 'withdrawn', push: failed },
  ])
  // A replay sends the event again.
  const again = await withDeliveries(
    async () => ({ ...shown, message: { id: 'm' } }),
    () => true,
    async (group, id) => group === 'never' && id === 'm',
  )()
  assert.deepEqual(again.events[1], { group: 'never', state: 'waiting', push: {} })
})
