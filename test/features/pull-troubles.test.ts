import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MINUTE } from '../../src/core/units.ts'
import type { Pull } from '../../src/engine/pulls.ts'
import { withStates } from '../../src/features/troubles/gateway-states.ts'
import { pullTroubles } from '../../src/features/troubles/pull-troubles.ts'

const NOW = Date.UTC(2026, 10, 29, 21, 58)

/** A gateway whose worker pulled and whose oldest message came this many minutes ago. */
function pull(pulled: number, oldest: number, parts: Partial<Pull> = {}): Pull {
  return {
    gateway: 'printing',
    hasRoute: false,
    last: { by: 'token:printer', at: NOW - pulled * MINUTE },
    backlog: { messages: 62, oldestAt: NOW - oldest * MINUTE, more: false },
    ...parts,
  }
}

test('a gateway whose workers stopped while messages wait is a trouble, and says so in lists', () => {
  const troubles = pullTroubles([pull(21, 20)], NOW)
  assert.partialDeepStrictEqual(troubles, [
    {
      code: 'backlog',
      severity: 'warning',
      title: '62 messages of printing are not pulled',
      where: { gateway: 'printing', road: 'receive' },
      count: 62,
      since: NOW - 21 * MINUTE,
    },
  ])
  assert.match(String(troubles[0]?.text), /the last pull was on 2026-11-29 21:37 UTC, by printer/)
  const gateways = ['printing', 'shop'].map((name) => ({ name, ok: true }))
  const [printing, shop] = withStates(gateways, troubles, [])
  assert.equal(printing?.warning, '62 messages not pulled')
  assert.equal(shop?.warning, undefined)
})

test('a worker that still calls, an empty backlog and a gateway with a route are no trouble', () => {
  const none = [
    pull(3, 20),
    pull(21, 1),
    pull(21, 20, { backlog: { messages: 0, more: false } }),
    pull(21, 20, { hasRoute: true }),
  ]
  assert.deepEqual(pullTroubles(none, NOW), [])
})
