import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { withStates } from '../../src/cli/route-facts.ts'
import { gatewayTroubles } from '../../src/cli/route-work.ts'
import { humanResult } from '../../src/cli/skill-output.ts'
import type { Json } from '../../src/core/json.ts'
import { humanRoute } from '../../src/engine/print/route.ts'
import { wholeText } from '../../src/lib/printed.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none } }
routes:
  - { name: refunds, match: { gateway: shop, data.body.kind: [refund, return] }, skill: echo }
  - { name: labels, match: { gateway: shop, not: { data.body.kind: spam } }, skill: label, retry: { attempts: 1 } }
`
const LABEL = `export default { description: 'Prints a label.', run() { throw new Error('no paper') } }`

describe('route show', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: { label: LABEL } })
  const daemon = await site.start()
  const run = async (...args: string[]) => {
    const { code, out, err } = await site.run(args)
    assert.equal(code, 0, err)
    return out
  }

  test('has the pause with its end, the waiting messages, the dead letters and the match as a table', async () => {
    await daemon.post('/shop', '{"kind":"order"}')
    const letters = async () => Object(await daemon.invoke('dead-letter-groups', { queue: 'dispatch' }))
    await until(async () => (await letters()).length === 1, 'the dead letter')
    await run('route', 'pause', 'labels', '--for', '2h', '--reason', 'no paper')
    await daemon.post('/shop', '{"kind":"order"}')
    await until(
      async () => /^waiting +1 message$/m.test(await run('route', 'show', 'labels')),
      'the message to wait',
    )
    const shown = await run('route', 'show', 'labels')
    assert.match(shown, /^labels {2}route to the skill label\n/)
    assert.match(shown, /^Paused by \S+ since .*, until 20.* UTC: no paper\. 1 message waits\.$/m)
    assert.match(shown, /^last message +20\S+ \d\d:\d\d:\d\d UTC \(\d+ (?:s|min) ago\)$/m)
    assert.match(shown, /^last hour +2 +1 \(50 %\) +\d\S* m?s \/ .* m?s +\d\S* m?s \/ .* m?s +0$/m)
    assert.match(
      shown,
      /^Failed attempts: 1 \(100 %\) of 1 in the last hour, 1 \(100 %\) of 1 in the last day, whenever/m,
    )
    assert.ok(shown.split('\n').every((line) => !/^last /.test(line) || line.length <= 80))
    assert.match(shown, /^last day +2 +1 \(50 %\) /m)
    assert.match(shown, /^dead letters +1$/m)
    assert.match(shown, /^attempts +one$/m)
    assert.match(shown, /^timeout +1 min \(default\)\nconcurrency +16 at the same time \(default\)$/m)
    assert.match(shown, /^reply +the result of its target \(default\)$/m)
    assert.match(shown, /^on failure +the sender gets no answer \(default\)$/m)
    assert.match(shown, /^1 × no paper \(.* ago\)$/m)
    assert.match(
      shown,
      /^ {2}→ `trivium dead-letter retry --all --queue dispatch --route labels --pattern '.*no paper'` retries it\.$/m,
    )
    assert.match(shown, /^tried before it +refunds$/m)
    assert.match(shown, /^gateway +shop\nnot +data\.body\.kind: spam$/m)
    assert.match(await run('route', 'show', 'refunds'), /^data\.body\.kind +refund or return$/m)
    assert.match(
      await run('route', 'list'),
      /^labels\tskill label\t[^\t]+\t2\t1\t1\t20\S+Z\t1\t1\tpaused until .*: no paper$/m,
    )
    const chosen = await run('route', 'show', 'labels', '--since', '2h')
    assert.match(chosen, /^last 2h +2 +1 \(50 %\) /m)
    assert.match(chosen, /^Failed attempts: 1 \(100 %\) of 1 in the last 2h, whenever/m)
    assert.doesNotMatch(chosen, /^last (?:hour|day) /m)
    const { pauses, dead, lastDay, lastHour, causes, timeout, defaults } = JSON.parse(
      await run('route', 'show', 'labels', '--json'),
    )
    const listed = JSON.parse(await run('route', 'list', '--json'))
    const {
      waiting,
      dead: deadInList,
      traffic,
    } = listed.find(({ name }: { name: string }) => name === 'labels')
    assert.deepEqual([waiting, deadInList], [1, 1])
    assert.deepEqual(traffic, { arrived: 2, failed: 1, undelivered: 0, attempts: 1, failedAttempts: 1 })
    const later = await run('route', 'list', '--since', '2h', '--until', '1h', '--json')
    const earlier = JSON.parse(later).find(({ name }: { name: string }) => name === 'labels')
    assert.deepEqual(earlier.traffic, {
      arrived: 0,
      failed: 0,
      undelivered: 0,
      attempts: 0,
      failedAttempts: 0,
    })
    assert.ok(earlier.lastAt, 'the last message is known whatever the range')
    const [gateway] = JSON.parse(await run('gateway', 'list', '--json'))
    assert.ok(gateway.traffic.accepted >= 2)
    assert.deepEqual([pauses[0].reason, dead], ['no paper', 1])
    for (const { messages, failed, retried, waited, ran } of [lastDay, lastHour]) {
      assert.deepEqual([messages, failed, retried], [2, 1, 0])
      assert.ok(waited.p95 >= waited.p50 && ran.p95 >= ran.p50)
    }
    assert.match(causes[0].command, /^trivium dead-letter retry --all --queue dispatch --route labels /)
    assert.deepEqual([causes[0].count, timeout], [1, 60_000])
    assert.deepEqual(defaults, ['timeout', 'concurrency', 'reply'])
  })
})

describe('a route with a retry and a gateway that does not work', () => {
  const found = { name: 'orders', match: { gateway: 'shop' }, target: 'skill', to: 'erp' }
  const nextAt = Date.now() + 5 * 60_000 + 30_000
  const retries = [{ id: 'a1', route: 'orders', attempt: 2, error: 'the ERP is away', nextAt }]

  test('route show counts the errors of the messages that are tried again, and lists these', () => {
    const text = humanRoute({ ...found, retrying: 1, retries, down: ['shop'] })
    assert.match(text, /^Its gateway does not work: shop\.$/m)
    assert.match(text, /^tried again +1 message$/m)
    assert.match(text, /^1 × the ERP is away$/m)
    assert.match(text, /^a1\s+attempt 2\s+in \d min$/m)
    const others = [
      { id: 'b1', attempt: 1, error: 'order 12 is locked', nextAt },
      { id: 'c1', attempt: 1, error: 'order 13 is locked', nextAt },
    ]
    const both = humanRoute({ ...found, retrying: 3, retries: [...retries, ...others] })
    assert.match(both, /^2 × order … is locked\n1 × the ERP is away$/m)
    assert.match(both, /^a1\s+attempt 2\s+in \d min\s+the ERP is away$/m)
  })

  test('both are in the list too', async () => {
    const answers: Record<string, Json> = {
      'message-search': { messages: [{ id: 'a1' }, { id: 't1', test: true }] },
      'message-attempts': [{ ...retries[0], outcome: 'retrying' }],
    }
    const daemon = {
      running: true,
      invoke: async (operation: string) => answers[operation] ?? null,
      status: async () => ({ gateways: [{ name: 'shop', ok: false }] }),
    }
    const routes = await withStates(daemon, [found])
    const text = wholeText(humanResult('route-list', routes, {}, true))
    assert.match(text, /gateway shop does not work, 1 tried again$/m)
  })
})

test('route show says that the gateway of a route refuses deliveries, since when and how many', () => {
  const since = Date.now() - 3_600_000
  const text = '9 of 9 deliveries refused (signature_invalid)'
  const refusals = { code: 'refusals', severity: 'error', where: { gateway: 'shop' }, text, since, count: 9 }
  const troubles = { troubles: [refusals, { ...refusals, where: { gateway: 'bank' } }] }
  const found = gatewayTroubles(troubles, ['shop'])
  const shown = humanRoute({ name: 'a', target: 'skill', to: 'b', match: {}, gatewayTroubles: found })
  assert.match(
    shown,
    /^Its gateway shop refuses deliveries since 20.* UTC \(\d+ \w+\): 9 of 9 deliveries refused \(signature_invalid\)\n {2}→ `trivium gateway show shop` /m,
  )
  assert.doesNotMatch(shown, /bank/)
})

test('route show does not say that a gateway refuses deliveries if it accepts them again', () => {
  const over = { code: 'refusals', severity: 'info', where: { gateway: 'shop' }, title: 'It accepts again' }
  assert.deepEqual(gatewayTroubles({ troubles: [over] }, ['shop']), [])
})

test('route show names replies that were not delivered, which are no dead letters of the route', () => {
  const route = {
    name: 'mail',
    match: { gateway: 'desk' },
    target: 'skill',
    to: 'answer',
    dead: 0,
    undelivered: 2,
  }
  const text = humanRoute(route)
  assert.match(text, /^dead letters +0\nnot delivered +2 replies$/m)
  assert.match(text, /`trivium message list --route mail --outcome undelivered` lists the messages/)
  assert.doesNotMatch(humanRoute({ ...route, undelivered: 0 }), /not delivered/)
})

test('route show says why a route can match nothing', () => {
  const never = ['"rest" (routes.yaml:4:11) already takes everything it matches']
  const text = humanRoute({ name: 'late', target: 'skill', to: 'echo', match: {}, never })
  assert.match(
    text,
    /^late {2}route to the skill echo\nIt matches nothing: "rest" .* already takes everything it matches\.\n/,
  )
})
