import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TriviumError } from '../../src/core/errors.ts'
import { HOUR } from '../../src/core/units.ts'
import { createGatewayHistory, type HistoryRange } from '../../src/engine/gateway-history.ts'
import type { MessageCounts } from '../../src/engine/histogram.ts'
import { callOf } from './kit.ts'

const NOW = Date.parse('2026-11-29T10:00:00Z')
const SPANS = 60

/** One message in each span. A call counts failed ones in `step` spans, and the others in one go. */
function counterOf(step: number) {
  return async ({ since = 0, until = 0, width = 0, outcome }: Record<string, unknown>) => {
    const [from, end, span] = [Number(since), Number(until), Number(width)]
    const spans = Math.ceil((end - from) / span)
    const counted = outcome === undefined ? spans : Math.min(step, spans)
    const counts = Array.from({ length: spans }, (_, at) => (at < spans - counted ? 0 : 1))
    const cut = counted < spans && { countedTo: from + (spans - counted) * span }
    return { from, width: span, counts, total: counted, ...cut } satisfies MessageCounts
  }
}

test('calls that continue a history count each message once, also if only failed ones take several', async () => {
  const historyOf = createGatewayHistory({
    countMessages: counterOf(10),
    refusals: { counts: async (_, { spans }) => Array.from({ length: spans }, () => 0) },
    now: () => NOW,
  })
  const accepted = Array.from({ length: SPANS }, () => 0)
  const failed = [...accepted]
  let range: HistoryRange | undefined = { since: NOW - HOUR }
  for (let calls = 0; range; calls++) {
    assert.ok(calls < SPANS)
    const { from, width, countedTo, ...counts } = await historyOf('shop', range, callOf())
    for (const [at, count] of counts.accepted.entries()) accepted[at] = (accepted[at] ?? 0) + count
    for (const [at, count] of counts.failed.entries()) failed[at] = (failed[at] ?? 0) + count
    range = countedTo === undefined ? undefined : { since: from, until: countedTo, width }
  }
  const once = Array.from({ length: SPANS }, () => 1)
  assert.deepEqual(accepted, once)
  assert.deepEqual(failed, once)
})

test('without the shard of the refusals, a history has the messages of the others, and says so', async () => {
  const historyOf = createGatewayHistory({
    countMessages: async (args) => ({ ...(await counterOf(SPANS)(args)), away: [1] }),
    refusals: {
      counts: async () => {
        throw new TriviumError('store_unavailable', { store: 'redis', reason: 'it is away' })
      },
    },
    now: () => NOW,
  })
  const { accepted, refused, refusalsFrom, away } = await historyOf('shop', { since: NOW - HOUR }, callOf())
  assert.deepEqual([accepted.length, refused.length], [SPANS, SPANS])
  assert.deepEqual([refusalsFrom, away], [NOW, [1]])
})
