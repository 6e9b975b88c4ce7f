import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withStates } from '../../src/cli/route-facts.ts'
import { humanResult } from '../../src/cli/skill-output.ts'
import type { Json, JsonObject } from '../../src/core/json.ts'
import { humanRoute } from '../../src/engine/print/route.ts'
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
  assert.match(text, /^route\tanswers\tmatch\tarrived\tfailed\tfailed attempts\tlast\twaiting\tdead\tstate\n/)
  assert.match(
    text,
    /labels\s+skill render-label\s+gateway: shop\s+paused until 2030-01-02T11:56:00.000Z by .*: busy/,
  )
  assert.match(text, /rest\s+skill echo\s+no other route matches/)
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

test('route list and route show name the attempt that has run for long', async () => {
  const since = Date.now() - 17 * 60_000
  const answers: Record<string, Json> = {
    'message-search': { messages: [{ id: 'b' }, { id: 'a' }, { id: 't', test: true }] },
    'message-attempts': [
      { id: 'b', route: 'ledger', outcome: 'running', since: Date.now() },
      { id: 'a', route: 'ledger', outcome: 'running', since },
    ],
  }
  const daemon = {
    running: true,
    invoke: async (operation: string, args: unknown) =>
      operation === 'message-search' && Object(args).outcome !== 'running'
        ? null
        : (answers[operation] ?? null),
    status: async () => null,
  }
  const routes = ['ledger', 'rest'].map((name) => ({ name, match: {}, target: 'skill', to: 'echo', retry }))
  const states = await withStates(daemon, routes)
  assert.deepEqual(
    states.map(({ running }) => running),
    [{ count: 2, id: 'a', since }, undefined],
  )
  const list = wholeText(humanResult('route-list', states, {}, true))
  assert.match(list, /^ledger\t.*\t2 running since \d{4}-.*Z$/m)
  assert.match(list, /^rest\t[^\n]*\t$/m)
  const shown = humanRoute(states[0] ?? null)
  assert.match(shown, /2 attempts run, the longest for 17 min\.\n.*`trivium run cancel a` ends it/)
  const fresh = { ...states[0], running: { count: 1, id: 'b', since: Date.now() } }
  assert.doesNotMatch(wholeText(humanResult('route-list', [fresh], {}, true)), /running/)
})

test('route list names the gateway of a route that refuses deliveries', async () => {
  const refusals = (gateway: string, severity: string) => ({
    code: 'refusals',
    severity,
    where: { gateway },
  })
  const daemon = {
    running: true,
    invoke: async (operation: string) =>
      operation === 'troubles' ? [refusals('shop', 'error'), refusals('bank', 'info')] : null,
    status: async () => null,
  }
  const routes = ['shop', 'bank'].map((gateway) => ({
    name: `of-${gateway}`,
    match: { gateway },
    target: 'skill',
    to: 'echo',
    retry,
  }))
  const states = await withStates(daemon, routes)
  assert.deepEqual(
    states.map(({ refusing }) => refusing),
    [['shop'], undefined],
  )
  const text = wholeText(humanResult('route-list', states, {}, true))
  assert.match(text, /^of-shop\t.*\tgateway shop refuses deliveries$/m)
  assert.match(text, /^of-bank\t[^\n]*\t$/m)
})

test('route show says that its times are without the messages that wait', () => {
  const work = { messages: 40, failed: 0, waited: { p50: 4, p95: 59 }, ran: { p50: 4, p95: 59 } }
  const shown = (waiting: number) =>
    humanRoute({ name: 'labels', target: 'skill', to: 'label', match: {}, lastHour: work, waiting })
  assert.match(shown(36), /^The times are without the 36 messages that still wait\.$/m)
  assert.match(shown(1), /^The times are without the 1 message that still waits\.$/m)
  assert.doesNotMatch(shown(0), /The times are without/)
})

test('route list says which route has most failed attempts, and their share', () => {
  const traffic = (failed: number, failedAttempts: number) => {
    return { traffic: { arrived: 40, failed, attempts: 12, failedAttempts } }
  }
  const routes = ['orders', 'returns'].map((name) => ({
    name,
    match: {},
    target: 'skill',
    to: 'ship',
    retry,
  }))
  const listed = [
    { ...routes[0], ...traffic(2, 4), lastAt: 0 },
    { ...routes[1], ...traffic(0, 6) },
  ]
  const textOf = (list: Json, args: JsonObject) => wholeText(humanResult('route-list', list, args, true))
  const text = textOf(listed, { since: '1h' })
  assert.match(text, /^orders\tskill ship\teverything\t40\t2\t4\t1970\S+Z\t\t\t$/m)
  assert.match(text, /^Most failed attempts: route returns, 6 of 12 \(50 %\)\.$/m)
  assert.match(textOf(listed, {}), /^Of the last day \(`--since 1h`, `--until`\)\. Most failed/m)
  const { columns } = process.stdout
  process.stdout.columns = 80
  const states = listed.map((route) => ({ ...route, approvals: 12, waiting: 3, dead: 4 }))
  const narrow = [{ since: '1h' }, {}].map((args) => textOf(states, args))
  process.stdout.columns = columns
  for (const text of narrow) assert.match(text, /^route +answers +arrived +failed +failed attempts/m)
  const good = routes.map((route) => ({ ...route, ...traffic(0, 0) }))
  assert.match(textOf(good, { since: '1h' }), /^No attempt failed\.$/m)
})

test('route list has dead letters and waiting messages in the state if their columns do not fit', (t) => {
  const { columns } = process.stdout
  t.after(() => {
    process.stdout.columns = columns
  })
  const traffic = { arrived: 40, failed: 9, attempts: 44, failedAttempts: 36, undelivered: 1 }
  const listed = ['orders-of-the-shop', 'payments-of-the-shop'].map((name, at) => ({
    name,
    match: { gateway: 'shop' },
    target: 'skill',
    to: 'contacts-of-customers',
    retry,
    traffic,
    lastAt: Date.now(),
    dead: at === 0 ? 9 : 0,
    waiting: at === 0 ? 0 : 1_204,
  }))
  const textAt = (width: number, args: JsonObject) => {
    process.stdout.columns = width
    return wholeText(humanResult('route-list', listed, args, true)).replace(/\s+/g, ' ')
  }
  const narrow = textAt(80, { since: '1h' })
  assert.match(narrow, /orders-of-the-shop .*9 dead letters/)
  assert.match(narrow, /1[,  ]?204 waiting/)
  assert.doesNotMatch(narrow, /Not shown:.*dead/)
  const wide = textAt(200, { since: '1h' })
  assert.match(wide, /waiting dead state/)
  assert.doesNotMatch(wide, /dead letter|204 waiting/)
})

test('route list says how many replies were not delivered, which count as failed', () => {
  const route = { name: 'mail', match: { gateway: 'post' }, target: 'skill', to: 'answer', retry }
  const traffic = { arrived: 9, failed: 1, undelivered: 1, attempts: 9, failedAttempts: 0 }
  const text = wholeText(humanResult('route-list', [{ ...route, traffic }], {}, true))
  assert.equal(text.split('\n')[1]?.split('\t').at(-1), '1 reply not delivered')
})
