import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withStates } from '../../src/cli/route-facts.ts'
import { humanResult } from '../../src/cli/skill-output.ts'
import type { Json, JsonObject } from '../../src/core/json.ts'
import { wholeText } from '../../src/lib/printed.ts'

const retry = { attempts: 5, backoff: 'exponential', delay: 1_000, maxDelay: 60_000 }

test('route list shows what each route matches, and when its pause ends', () => {
  const until = Date.parse('2030-01-02T11:56:00Z')
  const paused = { kind: 'route', since: 0, by: 'control-token:Ada', until, reason: 'busy' }
  const text = wholeText(
    humanResult(
      'route-list',
      [
        { name: 'labels', match: { gateway: 'shop' }, target: 'skill', to: 'render-label', retry, paused },
        { name: 'rest', match: {}, target: 'skill', to: 'echo', retry, fallback: true },
      ],
      {},
      true,
    ),
  )
  assert.match(text, /^route\tanswers\tmatch\twaiting\tdead\tstate\n/)
  assert.match(
    text,
    /labels\s+skill render-label\s+gateway: shop\s+paused until 2030-01-02T11:56:00.000Z by .*: busy/,
  )
  assert.match(text, /rest\s+skill echo\s+what no other route takes/)
})

test('route list says how many requests wait for an approval, among the other states', () => {
  const route = { name: 'refunds', match: { gateway: 'shop' }, target: 'skill', to: 'desk', retry }
  const states = [5, 1, 0].map((approvals) =>
    wholeText(humanResult('route-list', [{ ...route, approvals, retrying: 2 }], {}, true))
      .split('\t')
      .at(-1),
  )
  assert.deepEqual(states, [
    '2 tried again, 5 wait for approval',
    '2 tried again, 1 waits for approval',
    '2 tried again',
  ])
})

test('route list says that the gateway of a route is paused, and how many of its messages wait', () => {
  const pauses = [{ kind: 'gateway', name: 'shop', since: 0, by: 'control-token:Ada', waiting: 9 }]
  const route = { name: 'labels', match: { gateway: 'shop' }, target: 'skill', to: 'label', retry, pauses }
  const text = wholeText(humanResult('route-list', [{ ...route, waiting: 4 }], {}, true))
  assert.match(text, /labels\s+skill label\s+gateway: shop\s+4\s+gateway paused by \S+$/)
})

test('the messages that a pause of a gateway holds are counted for each of its routes', async () => {
  const pauses = [{ kind: 'gateway', name: 'shop', since: 0, by: 'ada', waiting: 9 }]
  const waiting: Record<string, number> = { labels: 4, refunds: 5 }
  const answers: Record<string, (args: JsonObject) => Json> = {
    'pause-list': () => pauses,
    'dead-letter-groups': () => [{ group: 'labels', count: 2 }],
    'approval-list': () => [{ route: 'labels', skill: 'pay' }, { skill: 'pay' }],
    'message-histogram': ({ route }) => ({ total: waiting[String(route)] ?? 0 }),
  }
  const daemon = {
    running: true,
    invoke: async (operation: string, args: unknown) => answers[operation]?.(Object(args)) ?? null,
    status: async () => null,
  }
  const routes = ['labels', 'refunds'].map((name) => ({ name, match: { gateway: ['shop'] } }))
  const states = await withStates(daemon, routes)
  assert.deepEqual(
    states.map((state) => [state.name, state.waiting, state.dead, state.approvals]),
    [
      ['labels', 4, 2, 1],
      ['refunds', 5, 0, 0],
    ],
  )
})
