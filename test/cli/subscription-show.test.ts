import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { humanResult } from '../../src/cli/skill-output.ts'
import { type JsonObject, toJson } from '../../src/core/json.ts'
import { makeId } from '../../src/core/message-id.ts'
import { wholeText } from '../../src/lib/printed.ts'
import { openSite } from '../fixtures/daemon.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { until } from '../fixtures/until.ts'

describe('subscription show and group show', { timeout: 300_000 }, async () => {
  const receiver = await serveHttp((_, response) => response.writeHead(503).end('disk quota exceeded'))
  const secret = `whsec_${'c2VjcmV0'.repeat(5)}`
  const site = openSite({
    routes: `
gateways: { shop: { transport: webhook, path: /shop, verify: { scheme: none }, from: data.body.by } }
subscriptions:
  - { name: analytics, url: "${receiver.url}/in?key=1", secret: ${secret}, allow-private: true }
routes: [{ name: all, skill: echo }]
`,
  })
  const daemon = await site.start()
  const run = async (...args: string[]) => {
    const { code, out, err } = await site.run(args)
    assert.equal(code, 0, err)
    return out
  }

  test('say what the receiver answered, when to the second, and about which message', async (t) => {
    t.after(receiver.close)
    await daemon.invoke('event-subscribe', { topic: 'gateway-message', queue: 'audit' })
    const response = await fetch(`${daemon.url}/shop`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ by: 'ada@example.com', text: 'order 4711' }),
    })
    const { id } = Object(await response.json())
    await until(async () => {
      const shown = Object(await daemon.invoke('subscription-show', { name: 'analytics' }))
      return shown.attempts.length > 0 && shown.traffic.failed > 0
    }, 'an attempt')
    const out = await run('subscription', 'show', 'analytics')
    assert.match(out, /^analytics\s+push of the topic gateway-message: (retrying|failing) for \d+ (?:s|min)/m)
    assert.match(out, /^failing since\s+20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC \(\d+ (?:s|min)\)$/m)
    assert.match(out, /^attempts\s+\d+ of \d+ failed since 20.* UTC$/m)
    const attempt = `20\\S+ \\d\\d:\\d\\d:\\d\\d\\t1 of 300\\t\\d+ m?s\\tit answered 503\\t(?:(?:in [^\\t]+|now)?\\t)?disk quota exceeded\\t${id}\\tada@example\\.com: `
    assert.match(out, new RegExp(`^${attempt}`, 'm'))
    assert.match(out, new RegExp(`show analytics --event ${id}\` shows its requests and answers`))
    assert.match(out, new RegExp(`message show ${id}\` shows what the last failed attempt sent`))
    assert.match(out, /^\s+(\d+) of \1: it answered 503: disk quota exceeded$/m)
    assert.match(out, /^retries\s+up to 300 attempts over .* apart; then a dead letter$/m)
    assert.match(out, /^timeout\s+15 s for the answer$/m)
    assert.match(out, /^signature\s+Standard Webhooks, 1 secret$/m)
    const one = await run('subscription', 'show', 'analytics', '--event', id.slice(-8))
    assert.match(one, new RegExp(`^event +${id}\nstate +waits for its next attempt, `, 'm'))
    assert.match(one, /^ {2}webhook-signature: \[secret\]$/m)
    assert.match(one, /^answer 503\n(?: {2}.*\n)*\n {2}disk quota exceeded$/m)
    assert.match(one, new RegExp(`^sent\n {2}.*"id":"${id}"`, 'm'))
    const group = await run('group', 'show', 'analytics')
    assert.match(group, /^failing since\s+20\S+ \d\d:\d\d:\d\d UTC/m)
    const audit = await run('group', 'show', 'audit')
    assert.match(audit, new RegExp(`:\\d\\d UTC \\(.* ago\\).*: ${id} \\(ada@example\\.com: `))
    assert.match(audit, new RegExp(`message show ${id}\` shows the next message`))
  })
})

test('the attempts of a push fit into 80 columns, with what they are about, and what follows', (t) => {
  const { columns } = process.stdout
  t.after(() => {
    process.stdout.columns = columns
  })
  process.stdout.columns = 80
  const attempts = [1, 2].map((attempt) => ({
    at: Date.parse('2026-11-29T12:04:05Z'),
    event: 'e-4711-a',
    attempt,
    ms: 600_029,
    status: 503,
    reason: 'it answered 503',
    answer: 'disk quota exceeded on the volume of the warehouse',
    about: 'ada@example.com: order 4711',
    nextAt: Date.parse('2026-11-29T12:09:05Z'),
    held: 'failing',
  }))
  const push = {
    name: 'crm',
    topic: 'orders',
    url: 'https://crm.example',
    state: 'active',
    ok: true,
    attempts,
  }
  const text = wholeText(
    humanResult('subscription-show', { ...push, queued: 2, unread: 0, dead: 0 }, {}, true),
  )
  assert.match(text, /^\S+ \w+ .*it answered 503\s+once it answers\s+.*e-4711-a\s+ada@example\.com: or/m)
  assert.doesNotMatch(text, /\b600029\b/)
})

test('an attempt at a gap names it, and one without a time of its own waits for the receiver', () => {
  const event = makeId(Date.now(), 0, 2)
  const attempt = { at: 0, event, attempt: 1, ms: 5, status: 503, reason: 'it answered 503', held: 'failing' }
  const push = {
    name: 'crm',
    topic: 'gateway-message',
    url: 'https://crm.example',
    state: 'failing',
    ok: false,
  }
  const policy = { attempts: 5, delay: 1, maxDelay: 1, lasts: { least: 1, most: 1 }, timeout: 1, secrets: 1 }
  const rate = { count: 8, per: 1_000 }
  const text = wholeText(
    humanResult(
      'subscription-show',
      toJson({ ...push, attempts: [attempt], policy: { ...policy, rate } }),
      {},
      true,
    ),
  )
  assert.match(text, /once it answers.*gap: 2 events were erased or expired/)
  assert.match(text, /^rate +at most 8 requests a second$/m)
})

test('the list of pushes counts each event once', () => {
  const push = {
    name: 'crm',
    topic: 'orders',
    url: 'https://crm.example',
    state: 'active',
    ok: true,
    dead: 0,
  }
  const text = wholeText(
    humanResult(
      'subscription-list',
      [{ ...push, queued: 12, unread: 109, matching: 109, waiting: 121, replayed: 61 }],
      {},
      true,
    ),
  )
  assert.match(text, /\bnew +again +dead\b|\tnew\tagain\tdead|new\s+again\s+dead/)
  assert.match(text, /\b60\s+61\s+0\b/)
})

test('the numbers of a push name the time that they are of, and the hint keeps the filters', () => {
  const [from, knownSince, to] = ['10:00', '11:00', '12:00'].map((time) => Date.parse(`2026-11-29T${time}Z`))
  const traffic = { delivered: 1, failed: 2, from, to, knownSince, causes: [] }
  const push = { name: 'crm', topic: 'orders', state: 'active', ok: true, attempts: [], more: true, traffic }
  const show = (args: JsonObject) =>
    wholeText(humanResult('subscription-show', toJson(push), { name: 'crm', ...args }, true))
  assert.match(show({}), /2 of 3 failed since 2026-11-29 11:00:00 UTC$/m)
  const text = show({ until: '1h', outcome: 'failed' })
  assert.match(text, /2 of 3 failed from 2026-11-29 11:00:00 UTC to 2026-11-29 12:00:00 UTC$/m)
  assert.match(text, /`trivium subscription show crm --outcome failed --until 1h --limit 300`/)
})

/** The page of a push whose attempts were counted since 11:00. `to`: the end of the range. */
function pageOf(parts: object, args: JsonObject) {
  const [from, knownSince, to] = ['09:00', '11:00', '12:00'].map((time) => Date.parse(`2026-11-29T${time}Z`))
  const traffic = { delivered: 0, failed: 0, from, to, knownSince, causes: [], ...Object(parts).traffic }
  const push = { name: 'crm', topic: 'orders', state: 'active', ok: true, attempts: [], ...parts, traffic }
  return wholeText(humanResult('subscription-show', toJson(push), { name: 'crm', ...args }, true))
}

test('a range before the attempts were counted is not shown as a reversed range', () => {
  const to = Date.parse('2026-11-29T10:00:00Z')
  const before = pageOf({ traffic: { to } }, { since: 'yesterday 9-10' })
  assert.match(before, /^attempts +not counted then: they are counted since 2026-11-29 11:00:00 UTC$/m)
  const partial = pageOf({ traffic: { failed: 1 } }, { since: '3h' })
  assert.match(partial, /^attempts +1 of 1 failed since 2026-11-29 11:00:00 UTC \(not counted before\)$/m)
})

test('kept attempts that do not match are not called none, and the page says how far they go back', () => {
  const [since, failedSince] = ['11:00', '10:00'].map((time) => Date.parse(`2026-11-29T${time}Z`))
  const kept = { count: 230, newest: 200, since, failedSince }
  const text = pageOf({ kept }, { outcome: 'failed' })
  assert.match(
    text,
    /^kept +the newest 200 attempts, since 2026-11-29 11:00:00 UTC \(.*\), and 30 failed ones before them, since 2026-11-29 10:00:00 UTC$/m,
  )
  assert.match(text, /^None of the 230 kept attempts matches\.$/m)
  assert.match(pageOf({}, {}), /^No attempts yet\.$/m)
})

test('the page of one event says what became of it', () => {
  const stateOf = (eventState: object) => {
    const text = pageOf({ eventState, queued: 0 }, { event: 'e-1' })
    assert.match(text, /^event +e-1$/m)
    assert.doesNotMatch(text, /No attempts yet/)
    return /^state +(.*)$/m.exec(text)?.[1] ?? ''
  }
  assert.match(stateOf({ state: 'delivered', at: 0 }), /^delivered 1970-01-01 00:00:00 UTC/)
  assert.equal(
    stateOf({ state: 'dead', deadLetter: 'push/crm/e-1' }),
    'dead letter: `trivium dead-letter show push/crm/e-1`',
  )
  const again = { since: Date.parse('2026-11-29T11:00Z'), job: 'ab12cd34' }
  const waits = 'waits for an attempt of the replay of 2026-11-29 11:00:00 UTC: `trivium job show ab12cd34`'
  assert.equal(stateOf({ state: 'waiting', ...again }), waits)
  assert.ok(stateOf({ state: 'delivered', at: 0, again }).endsWith(`; ${waits}`))
  assert.equal(stateOf({ state: 'unread' }), 'not sent yet')
  assert.equal(stateOf({ state: 'queued', held: 'paused' }), 'not sent yet: the push is paused')
  const soon = { held: 'failing', nextAt: Date.now() - 1 }
  assert.equal(stateOf({ state: 'unread', ...soon }), 'not sent yet: the push fails, its next attempt is due')
  assert.match(
    stateOf({ state: 'read', mayHaveFailed: true }),
    /^read by the push; its attempts are no longer/,
  )
  assert.match(stateOf({ state: 'unknown' }), /^unknown: /)
})
