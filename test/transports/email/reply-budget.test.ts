import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { emailOptions } from '../../../transports/email/options.ts'
import { createReplyBudget } from '../../../transports/email/outbound/reply-budget.ts'
import { createMemoryStore, type MemoryStore } from '../../fixtures/memory-store.ts'
import { serversOf } from './harness.ts'

const HOUR = 3_600_000

/** A budget with its own clock. */
function startBudget(budget?: unknown, store: MemoryStore = createMemoryStore()) {
  const options = parsed(budget)
  const clock = { now: 1_800_000_000_000 }
  const warnings: string[] = []
  const log = { ...silent, warn: (_fields: object, text: string) => void warnings.push(text) }
  const limits = createReplyBudget(options, { kv: store.kv, gateway: 'support', now: () => clock.now, log })
  /**
   * Sends answers with a pause (ms) before each, each in a new thread. Resolves with the number
   * that the budget allows.
   */
  const send = async (
    times: number,
    to: (index: number) => string,
    pause: number,
    subject = () => 'Help',
  ) => {
    let sent = 0
    for (let index = 0; index < times; index++) {
      clock.now += pause
      const id = crypto.randomUUID()
      const answer = {
        key: id,
        to: to(index),
        subject: subject(),
        conversation: id,
        thread: id,
        at: clock.now,
        quick: false,
      }
      const exhausted = await limits.take(answer)
      if (exhausted === undefined) sent++
    }
    return sent
  }
  return { limits, clock, send, warnings, store }
}

const someAnswer = {
  to: 'a@x.example',
  subject: '',
  conversation: 'c',
  thread: 'c',
  quick: false,
}

const silent = { trace() {}, debug() {}, info() {}, warn() {}, error() {}, child: () => silent }

function parsed(budget?: unknown) {
  const servers = serversOf(1, 1, 'x')
  return emailOptions.parse({ ...servers, ...(budget === undefined ? {} : { 'reply-budget': budget }) })
}

describe('the budget of automatic replies', () => {
  test('limits a domain if a robot changes its address', async () => {
    const { send, limits, warnings } = startBudget()
    // The first counts 1, the next nine count 2 as quick ones: 19 of 20. After a pause of 30 s
    // without an answer, one more counts 1.
    assert.equal(await send(60, (at) => `ticket-${at}@robot.example`, 700), 11)
    assert.match(
      limits.exhausted().join(),
      /no automatic replies to robot\.example for \d+ min \(reply-budget\.domain\)/,
    )
    assert.deepEqual(warnings, ['automatic replies to robot.example are stopped'])
  })

  test('counts all hosts of a domain together', async () => {
    const { send } = startBudget()
    // As with one host, see above.
    assert.equal(await send(60, (at) => `a@host${at}.robot.co.uk`, 700), 11)
  })

  test('allows more for a domain if its mails are a minute apart', async () => {
    const { send } = startBudget()
    assert.equal(await send(60, (at) => `person${at}@company.example`, 60_000), 20)
  })

  test('does not limit other domains', async () => {
    const { send, limits } = startBudget()
    await send(60, (at) => `a${at}@robot.example`, 700)
    assert.equal(await send(30, (at) => `a@company${at}.example`, 700), 30)
    assert.equal(limits.exhausted().length, 1)
  })

  test('limits a mail provider or the own domain only for mails that look like those of one robot', async () => {
    // example.com is the domain of the tested mailbox.
    for (const domain of ['gmail.com', 'outlook.com', 'gmx.de', 'yahoo.co.uk', 'qq.com', 'example.com']) {
      const people = startBudget()
      const subject = () => `Question about ${Math.random().toString(36)}`
      assert.equal(await people.send(100, (at) => `person${at}@${domain}`, 700, subject), 100, domain)
      const same = startBudget()
      assert.equal(await same.send(100, (at) => `person${at}@${domain}`, 35_000), 100, domain)
      let ticket = 0
      const robot = startBudget()
      const sent = await robot.send(
        100,
        (at) => `robot${at}@${domain}`,
        700,
        () => `[#${ticket++}] Your request`,
      )
      // The first counts 0, then 20 quick ones count 1. After a pause, one more counts 0.
      assert.equal(sent, 22, domain)
    }
  })

  test('limits the gateway as a whole, with small records', async () => {
    const { send, limits, store } = startBudget({ gateway: '50/h' })
    assert.equal(await send(60, (at) => `a@company${at}.example`, 1000), 50)
    assert.match(limits.exhausted().join(), /of this gateway/)
    for (const key of (await store.kv.list('email/support/budget/', 1000)).items)
      assert.ok(JSON.stringify((await store.kv.get(key))?.value).length < 2000)
  })

  test('ends after the time of the limit', async () => {
    const { send, clock, limits } = startBudget()
    await send(60, (at) => `a${at}@robot.example`, 700)
    clock.now += HOUR
    assert.deepEqual(limits.exhausted(), [])
    assert.equal(await send(5, (at) => `b${at}@robot.example`, 60_000), 5)
  })

  test('is the same after a restart', async () => {
    const before = startBudget()
    await before.send(60, (at) => `a${at}@robot.example`, 700)
    const restarted = startBudget(undefined, before.store)
    restarted.clock.now = before.clock.now
    assert.equal(await restarted.send(20, (at) => `b${at}@robot.example`, 700), 0)
    assert.equal(restarted.limits.exhausted().length, 1)
  })

  test('counts a retried reply once, and allows one that an operator retries', async () => {
    const { limits, clock } = startBudget('2/h')
    const answer = (key: string) => limits.take({ ...someAnswer, key, at: clock.now })
    for (const key of ['1', '1', '1', '2']) assert.equal(await answer(key), undefined)
    assert.equal((await answer('3'))?.option, 'reply-budget.address')
    // The same key after a refusal: an operator has retried the dead letter.
    assert.equal(await answer('3'), undefined)
  })

  test('counts a retried reply once, whichever budgets are off', async () => {
    for (const [budget, to] of [
      [{ address: 'off', conversation: 'off', thread: 'off', domain: 'off', gateway: '2/h' }, 'a@x.example'],
      [{ address: 'off', conversation: 'off', thread: 'off', domain: '2/h', gateway: '2/h' }, 'a@gmail.com'],
    ] as const) {
      const { limits, clock } = startBudget(budget)
      const answer = (key: string) => {
        clock.now += 1000
        return limits.take({ ...someAnswer, key, to, at: clock.now })
      }
      for (const key of ['1', '2', '1', '1', '2']) assert.equal(await answer(key), undefined, to)
      assert.equal((await answer('3'))?.option, 'reply-budget.gateway')
    }
  })

  test('tells when there is room again, also if several answers have to leave the window', async () => {
    const { limits, clock } = startBudget('10/h')
    const answer = (quick: boolean) =>
      limits.take({ ...someAnswer, key: crypto.randomUUID(), at: clock.now, quick })
    for (let sent = 0; sent < 8; sent++) {
      assert.equal(await answer(false), undefined)
      clock.now += 60_000
    }
    // The quick one halves the limit to 5. There is room when the first 4 of the 8 have fallen out
    // of the window: the fourth was sent at minute 3, and now is minute 8.
    const refused = await answer(true)
    assert.equal(refused?.wait, HOUR - 5 * 60_000)
    clock.now += refused.wait - 1
    assert.equal((await answer(true))?.wait, 1)
    clock.now += 1
    assert.equal(await answer(true), undefined)
  })

  test('shows the time that is left', async () => {
    const { limits, clock, send } = startBudget({ domain: '1/h' })
    await send(2, () => 'a@robot.example', 700)
    assert.match(limits.exhausted().join(), / for 60 min /)
    clock.now += 50 * 60_000
    assert.match(limits.exhausted().join(), / for 10 min /)
  })

  test('is configurable', async () => {
    const tenPerHour = { count: 10, per: HOUR }
    const defaults = {
      address: tenPerHour,
      conversation: tenPerHour,
      thread: tenPerHour,
      domain: { count: 20, per: HOUR },
    }
    assert.deepEqual(parsed()['reply-budget'], { ...defaults, gateway: { count: 1000, per: HOUR } })
    assert.equal(parsed('off')['reply-budget'].gateway, 'off')
    assert.deepEqual(parsed('50/h')['reply-budget'].domain, { count: 100, per: HOUR })
    assert.equal(parsed({ domain: 'off' })['reply-budget'].domain, 'off')
    assert.throws(() => parsed('many'), /expected a rate such as 10\/h/)
    const { send } = startBudget({ domain: 'off', gateway: 'off' })
    assert.equal(await send(60, (at) => `a${at}@robot.example`, 700), 60)
  })
})
