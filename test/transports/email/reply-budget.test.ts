import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { emailOptions } from '../../../transports/email/options.ts'
import { createReplyBudget } from '../../../transports/email/outbound/reply-budget.ts'
import { createMemoryStore, type MemoryStore } from '../../fixtures/memory-store.ts'
import { serversOf } from './harness.ts'

const HOUR = 3_600_000

/** A budget with a clock of its own. */
function world(budget?: unknown, store: MemoryStore = createMemoryStore()) {
  const { options } = { options: parsed(budget) }
  const clock = { now: 1_800_000_000_000 }
  const warnings: string[] = []
  const log = { ...silent, warn: (_fields: object, text: string) => void warnings.push(text) }
  const limits = createReplyBudget(options, { kv: store.kv, gateway: 'support', now: () => clock.now, log })
  /** How many of so many answers are sent; each to a new address, in a thread of its own. */
  const send = async (times: number, to: (at: number) => string, pause: number, subject = () => 'Help') => {
    let sent = 0
    for (let at = 0; at < times; at++) {
      clock.now += pause
      const id = crypto.randomUUID()
      const answer = {
        key: id,
        to: to(at),
        subject: subject(),
        conversation: id,
        thread: id,
        at: clock.now,
        quick: false,
      }
      if (!(await limits.take(answer))) sent++
    }
    return sent
  }
  return { limits, clock, send, warnings, store }
}

const silent = { trace() {}, debug() {}, info() {}, warn() {}, error() {}, child: () => silent }

function parsed(budget?: unknown) {
  const servers = serversOf(1, 1, 'x')
  return emailOptions.parse({ ...servers, ...(budget === undefined ? {} : { 'reply-budget': budget }) })
}

describe('automatic replies are limited', () => {
  test('for a domain, where a robot has another address each time', async () => {
    const { send, limits, warnings } = world()
    assert.equal(await send(60, (at) => `ticket-${at}@robot.example`, 700), 11)
    assert.match(
      limits.exhausted().join(),
      /no automatic replies to robot\.example for \d+ min \(reply-budget\.domain\)/,
    )
    assert.deepEqual(warnings, ['automatic replies to robot.example are stopped'])
  })

  test('for all the hosts of a domain together', async () => {
    const { send } = world()
    assert.equal(await send(60, (at) => `a@host${at}.robot.co.uk`, 700), 11)
  })

  test('for a domain whose people write one after the other less than for a robot', async () => {
    const { send } = world()
    assert.equal(await send(60, (at) => `person${at}@company.example`, 60_000), 20)
  })

  test('not for one domain because of another', async () => {
    const { send, limits } = world()
    await send(60, (at) => `a${at}@robot.example`, 700)
    assert.equal(await send(30, (at) => `a@company${at}.example`, 700), 30)
    assert.equal(limits.exhausted().length, 1)
  })

  test('in a domain that many share only for what looks like one robot', async () => {
    for (const domain of ['gmail.com', 'outlook.com', 'gmx.de', 'yahoo.co.uk', 'qq.com', 'example.com']) {
      const people = world()
      const subject = () => `Question about ${Math.random().toString(36)}`
      assert.equal(await people.send(100, (at) => `person${at}@${domain}`, 700, subject), 100, domain)
      const same = world()
      assert.equal(await same.send(100, (at) => `person${at}@${domain}`, 35_000), 100, domain)
      let ticket = 0
      const robot = world()
      const sent = await robot.send(
        100,
        (at) => `robot${at}@${domain}`,
        700,
        () => `[#${ticket++}] Your request`,
      )
      assert.equal(sent, 22, domain)
    }
  })

  test('for the gateway as a whole', async () => {
    const { send, limits, store } = world({ gateway: '50/h' })
    assert.equal(await send(60, (at) => `a@company${at}.example`, 1000), 50)
    assert.match(limits.exhausted().join(), /of this gateway/)
    for (const key of (await store.kv.list('email/support/budget/', 1000)).items)
      assert.ok(JSON.stringify((await store.kv.get(key))?.value).length < 2000)
  })

  test('until the time of the limit is over', async () => {
    const { send, clock, limits } = world()
    await send(60, (at) => `a${at}@robot.example`, 700)
    clock.now += HOUR
    assert.deepEqual(limits.exhausted(), [])
    assert.equal(await send(5, (at) => `b${at}@robot.example`, 60_000), 5)
  })

  test('after a restart as before it', async () => {
    const before = world()
    await before.send(60, (at) => `a${at}@robot.example`, 700)
    const restarted = world(undefined, before.store)
    restarted.clock.now = before.clock.now
    assert.equal(await restarted.send(20, (at) => `b${at}@robot.example`, 700), 0)
    assert.equal(restarted.limits.exhausted().length, 1)
  })

  test('once for a reply that is tried again, and not for one that a person sends again', async () => {
    const { limits, clock } = world('2/h')
    const answer = (key: string) =>
      limits.take({
        key,
        to: 'a@x.example',
        subject: '',
        conversation: 'c',
        thread: 'c',
        at: clock.now,
        quick: false,
      })
    for (const key of ['1', '1', '1', '2']) assert.equal(await answer(key), undefined)
    assert.equal((await answer('3'))?.option, 'reply-budget.address')
    assert.equal(await answer('3'), undefined)
  })

  test('as the configuration says', async () => {
    const every = { count: 10, per: HOUR }
    const defaults = { address: every, conversation: every, thread: every, domain: { count: 20, per: HOUR } }
    assert.deepEqual(parsed()['reply-budget'], { ...defaults, gateway: { count: 1000, per: HOUR } })
    assert.equal(parsed('off')['reply-budget'].gateway, 'off')
    assert.deepEqual(parsed('50/h')['reply-budget'].domain, { count: 100, per: HOUR })
    assert.equal(parsed({ domain: 'off' })['reply-budget'].domain, 'off')
    assert.throws(() => parsed('many'), /expected a rate such as 10\/h/)
    const { send } = world({ domain: 'off', gateway: 'off' })
    assert.equal(await send(60, (at) => `a${at}@robot.example`, 700), 60)
  })
})
