import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withPauseList } from '../../src/features/pauses/pause-list.ts'
import type { Pause } from '../../src/features/pauses/records.ts'
import { callOf } from '../engine/kit.ts'

test('a caller with some gateways sees the pauses of these alone', async () => {
  const about = { by: 'ada', since: 1, reason: 'the bank is down' }
  const pauses: Pause[] = [
    { kind: 'gateway', name: 'shop', ...about },
    { kind: 'gateway', name: 'bank', ...about },
    { kind: 'route', name: 'of-the-bank', ...about },
    { kind: 'skill', name: 'transfer', ...about },
  ]
  const listing = withPauseList(Object({}), {
    roads: {
      pauses: {
        view: { list: () => pauses, pauseOf: ({ group }) => pauses.find(({ name }) => name === group) },
      },
    },
    jobs: {
      held: async () => ({ items: [{ id: 'a', lane: 'shop/1', group: 'of-the-bank' }], more: false }),
    },
    push: { service: { list: async () => [] } },
    durable: { services: { schedules: { list: async () => [] } } },
  })
  const names = async (gateways?: string[]) => {
    const call = callOf({ caller: { kind: 'http', ...(gateways && { gateways }) } })
    return [await listing['pause-list']({}, call)].flat().map((pause) => Object(pause).name)
  }
  assert.deepEqual(await names(['shop']), ['shop'])
  assert.equal((await names()).length, 4)
  const all = await listing['pause-list']({}, callOf({ caller: { kind: 'http' } }))
  assert.deepEqual(
    [all].flat().map((pause) => [Object(pause).waiting, Object(pause).messageIds]),
    [
      [0, []],
      [0, []],
      [1, ['a']],
      [0, []],
    ],
  )
})
