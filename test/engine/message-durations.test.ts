import assert from 'node:assert/strict'
import { test } from 'node:test'
import { humanResult } from '../../src/cli/skill-output.ts'
import { completeMessage } from '../../src/core/message.ts'
import { makeId } from '../../src/core/message-id.ts'
import { HOUR } from '../../src/core/units.ts'
import { createMessageDurations } from '../../src/engine/message-durations.ts'
import { callOf, newMessage } from './kit.ts'

const NOW = Date.parse('2026-11-29T10:00:00Z')

test('of many messages, message-durations examines a sample in which each time span has its share', async () => {
  const half = 1_000
  const width = HOUR / 2
  const from = NOW - HOUR
  const limits: number[] = []
  const durations = createMessageDurations({
    store: {
      journal: {
        // Messages of the first half hour took 10 ms, those of the second 1,000 ms.
        search: async ({ since = 0, limit }) => {
          limits.push(limit)
          const found = Array.from({ length: limit }, (_, at) => {
            const id = makeId(since, at, 0)
            return {
              message: completeMessage({ id, gateway: 'demo', receivedAt: since }, newMessage()),
              outcome: 'done' as const,
            }
          })
          return { found }
        },
        history: async (id: string) => {
          const isOld = id < makeId(from + width, 0, 0)
          const ms = isOld ? 10 : 1_000
          const at = (isOld ? from : from + width) + ms
          return [{ at, road: 'dispatch', what: 'done', detail: { route: 'a', attempt: 1, ms } }]
        },
      },
    },
    countMessages: async ({ attempts }) =>
      attempts
        ? { from, width: 2 * width, counts: [36], total: 36 }
        : { from, width, counts: [9 * half, half], total: 10 * half },
    heldFor: () => 0,
    now: () => NOW,
  })
  const found = await durations({ since: from, route: 'a' }, callOf())
  const { total, examined, waited, ran, retried, retriedOf } = Object(found)
  assert.deepEqual(limits, [40, 360])
  assert.deepEqual({ total, examined }, { total: 10_000, examined: 400 })
  assert.deepEqual({ retried, retriedOf }, { retried: 36, retriedOf: 10_000 }, 'not only those of the sample')
  assert.match(
    String(humanResult('message-durations', { ...Object(found), to: NOW }, {}, true)),
    /10000 messages .*; the times are of a sample of 400[\s\S]*more than one attempt +36 \(0 %\)/,
  )
  assert.deepEqual({ waited, ran }, { waited: { p50: 0, p95: 0 }, ran: { p50: 10, p95: 1_000 } })
})
