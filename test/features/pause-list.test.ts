import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withPauseList } from '../../src/features/pauses/pause-list.ts'
import type { Pause } from '../../src/features/pauses/records.ts'
import { callOf } from '../engine/kit.ts'

test('pause-list shows the pauses of the gateways of its caller, or all, each with what waits for it', async () => {
  const about = { by: 'ada', since: 1, reason: 'the bank is down' }
  const pauses: Pause[] = [
    { kind: 'gateway', name: 'shop', ...about },
    { kind: 'gateway', name: 'bank', ...about },
    { kind: 'route', name: 'of-the-bank', ...about },
    { kind: 'skill', name: 'transfer', ...about },
    { kind: 'skill', name: 'pay', ...about },
  ]
  let storePausedSince: number | undefined
  const listing = withPauseList(Object({}), {
    storePausedSince: async () => storePausedSince,
    roads: {
      pauses: {
        view: {
          list: () => pauses,
          endedSince: () => [],
          runQueues: ['schedules'],
          pauseOfRun: ({ group }) => pauses.find(({ kind, name }) => kind === 'skill' && name === group),
          pausesOf: ({ group, lane }) =>
            pauses.filter(({ name }) => name === group || lane.startsWith(`${name}/`)),
        },
      },
    },
    jobs: {
      held: async (queue) => ({
        items: [
          queue === 'dispatch'
            ? { id: 'a:approval', lane: 'shop/1', group: 'of-the-bank' }
            : { id: 'nightly', lane: 'nightly', group: 'pay' },
        ],
        more: false,
      }),
    },
    journal: { search: async () => ({ found: [] }) },
    push: { service: { list: async () => [] } },
    durable: { services: { schedules: { list: async () => [] } } },
  })
  const list = async (gateways?: string[]) => {
    const call = callOf({ caller: { kind: 'http', ...(gateways && { gateways }) } })
    const found = [await listing['pause-list']({}, call)].flat().map(Object)
    return found.map(({ name, waiting, messageIds, runs }) => ({
      ...{ name, waiting, messageIds },
      ...(runs !== undefined && { runs }),
    }))
  }
  // Two pauses hold the message, and each counts it.
  const shop = { name: 'shop', waiting: 1, messageIds: ['a'] }
  assert.deepEqual(await list(['shop']), [shop])
  assert.deepEqual(await list(), [
    shop,
    { name: 'bank', waiting: 0, messageIds: [] },
    { name: 'of-the-bank', waiting: 1, messageIds: ['a'] },
    { name: 'transfer', waiting: 0, messageIds: [] },
    { name: 'pay', waiting: 0, messageIds: [], runs: 1 },
  ])
  storePausedSince = 7
  const namesFor = async (gateways?: string[]) => (await list(gateways)).map(({ name }) => name)
  assert.deepEqual(await namesFor(['shop']), ['everything', 'shop'])
  assert.deepEqual(await namesFor(), ['everything', 'shop', 'bank', 'of-the-bank', 'transfer', 'pay'])
})
