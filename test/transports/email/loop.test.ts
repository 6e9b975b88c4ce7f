import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { pathGet } from '../../../src/core/json.ts'
import { until } from '../../fixtures/until.ts'
import { cursorOf, mail, replyTo, startWorld } from './harness.ts'

const world = await startWorld()

describe('mail is never answered in a loop', () => {
  beforeEach(() => {
    world.smtp.taken.length = 0
  })

  const running: (() => Promise<void>)[] = []
  // An answer still on its way would be counted by the next test.
  afterEach(async () => {
    for (const stop of running.splice(0)) await stop()
  })

  /** Answers every message, as the most careless skill would. */
  const autoresponder = async (address: string, options: object = {}) => {
    const daemon = await world.daemon({ address, ...options }, { gateway: address, start: 'later' })
    const errors: unknown[] = []
    const sends: Promise<unknown>[] = []
    const { accept } = daemon.deps
    daemon.deps.accept = async (message) => {
      const accepted = await accept(message)
      const stored = daemon.store.messages.find(({ id }) => id === accepted.id)
      if (stored && !accepted.duplicate) {
        const send = daemon.transport.send(replyTo(stored, 'I got your mail.'))
        sends.push(send.catch((error) => errors.push(error)))
      }
      return accepted
    }
    running.push(async () => {
      await Promise.all(sends)
      await daemon.stop()
    })
    await daemon.transport.start()
    await until(() => cursorOf(daemon.store, address), 'the cursor')
    return { ...daemon, errors }
  }

  test('two that answer everything and face each other stop after one answer', async () => {
    const one = await autoresponder('one@example.com')
    const two = await autoresponder('two@example.org')
    await world.deliver(mail({ from: 'two@example.org', to: 'one@example.com' }), 'one@example.com')
    // One answers; two accepts the answer, tries to answer it, and keeps silent.
    await until(() => two.refused.length > 0, 'the silence of the second')
    assert.deepEqual(two.refused, ['reply:auto-submitted'])
    assert.equal(world.smtp.taken.length, 1)
    assert.equal(one.store.messages.length, 1)
  })

  test('against a peer that hides that it is a machine, the budget ends it and says so', async () => {
    const one = await autoresponder('budget@example.com', { 'reply-budget': '3/h' })
    for (let round = 0; round < 5; round++) {
      await world.deliver(mail({ from: 'liar@example.org', text: `round ${round}` }), 'budget@example.com')
    }
    await until(() => one.errors.length === 2, 'the two answers over the budget')
    await until(() => world.smtp.taken.length >= 3, 'the answers within the budget')
    assert.deepEqual(one.refused, ['reply:budget', 'reply:budget'])
    assert.match(String(one.errors[0]), /budget of automatic replies to liar@example\.org/)
    const [last] = one.store.messages.slice(-1)
    assert.ok(last)
    await one.transport.send(replyTo(last, 'sent again by hand, from the dead letters'))
    await until(() => world.smtp.taken.length >= 4, 'what a person sends all the same')
    await world.deliver(mail({ from: 'other@example.org' }), 'budget@example.com')
    await until(() => world.smtp.taken.length >= 5, 'the answer to somebody else')
    assert.equal(world.smtp.taken.length, 5)
  })

  test('a robot that hides, answers at once and has another address each time is answered a few times', async () => {
    const one = await autoresponder('robot@example.com')
    let parent = ''
    const robots = ['ticket', 'Ticket', 'ticket'].flatMap((name, at) => [
      `${name}+${at}@r.example`,
      `${name}${at}@r.example`,
    ])
    for (const [at, from] of robots.entries()) {
      await world.deliver(
        mail({ from, headers: parent ? { 'In-Reply-To': parent } : {} }),
        'robot@example.com',
      )
      await until(() => world.smtp.taken.length > at || one.refused.length > 0, 'an answer, or none')
      if (one.refused.length > 0) break
      parent = /^Message-ID: (<.*>)/im.exec(String(world.smtp.taken.at(-1)?.raw))?.[1] ?? ''
    }
    assert.deepEqual(one.refused, ['reply:budget'])
    assert.equal(world.smtp.taken.length, 3)
    assert.equal(new Set(one.store.messages.map(({ conversation }) => conversation)).size, 1)
  })

  test('a robot that hides and names no mail of ours is stopped by its domain, and stays so after a restart', async () => {
    const one = await autoresponder('domain@example.com')
    const write = async (from: string) => {
      const seen = one.store.messages.length
      await world.deliver(mail({ from, subject: `Your request ${from}` }), 'domain@example.com')
      await until(() => one.store.messages.length > seen, 'the message')
    }
    let count = 0
    for (; count < 20 && one.errors.length === 0; count++) {
      await write(`ticket-${count}@mail${count}.robot.example`)
      await until(() => world.smtp.taken.length + one.errors.length > count, 'an answer, or none')
    }
    assert.match(
      String(one.errors[0]),
      /budget of automatic replies to robot\.example is used up .*reply-budget\.domain/,
    )
    assert.ok(world.smtp.taken.length <= 11, `${world.smtp.taken.length} answers`)
    assert.match(one.transport.health().warning ?? '', /no automatic replies to robot\.example/)
    const last = one.store.messages.at(-1)
    assert.ok(last)
    const again = await world.daemon(
      { address: 'domain@example.com' },
      { gateway: 'domain@example.com', store: one.store, start: 'later' },
    )
    const next = replyTo({ ...last, id: 'another' }, 'I got your mail.')
    await assert.rejects(again.transport.send(next), /budget of automatic replies to robot\.example/)
    await world.deliver(mail({ from: 'bob@company.example' }), 'domain@example.com')
    await until(
      () => world.smtp.taken.some(({ to }) => to.includes('bob@company.example')),
      'the answer to Bob',
    )
  })

  test('tags and case make no other correspondent', async () => {
    const one = await autoresponder('tags@example.com', { 'reply-budget': '1/h' })
    for (const from of ['liar@example.org', 'Liar+1@example.org'])
      await world.deliver(mail({ from }), 'tags@example.com')
    await until(
      () => one.refused.length === 1 && world.smtp.taken.length === 1,
      'one answer, and one silence',
    )
  })

  test('a copy of its own mail, as a list or a rule sends it back, is not a message', async () => {
    const one = await autoresponder('copy@example.com')
    await world.deliver(mail({ from: 'anna@example.net' }), 'copy@example.com')
    const own = await until(() => world.smtp.taken[0], 'the answer')
    await world.deliver(own.raw, 'copy@example.com')
    await world.deliver(mail({ from: 'bob@example.net', text: 'next' }), 'copy@example.com')
    await until(() => one.store.messages.length === 2, 'the next message')
    assert.deepEqual(
      one.store.messages.map(({ from }) => from.address),
      ['anna@example.net', 'bob@example.net'],
    )
  })

  test('its own address, aliases included, and those of robots get no answer, wherever Reply-To leads', async () => {
    const one = await autoresponder('own@example.com', { aliases: ['Info@example.com'] })
    await world.deliver(mail({ from: 'own@example.com' }), 'own@example.com')
    await world.deliver(mail({ from: 'INFO@example.com' }), 'own@example.com')
    await world.deliver(mail({ headers: { 'Reply-To': 'info@example.com' } }), 'own@example.com')
    await world.deliver(mail({ headers: { 'Reply-To': 'noreply@example.net' } }), 'own@example.com')
    await until(() => one.refused.length === 4, 'four silences')
    assert.deepEqual(one.refused.sort(), [
      'reply:own-address',
      'reply:own-address',
      'reply:own-address',
      'reply:robot-address',
    ])
    assert.equal(world.smtp.taken.length, 0)
  })

  test('a blind copy gets no answer, and one that came through an alias does', async () => {
    const one = await autoresponder('blind@example.com')
    await world.deliver(mail({ to: 'friend@example.org' }), 'blind@example.com')
    await until(() => one.refused.length === 1, 'the silence')
    assert.deepEqual(one.refused, ['reply:not-addressed'])
    assert.equal(one.store.messages[0]?.data.auto, undefined)
    const trace = { Received: 'from x by mx.example.org with ESMTP id 1 for <hello@example.org>; Sat' }
    await world.deliver(mail({ to: 'hello@example.org', headers: trace }), 'blind@example.com')
    await world.deliver(mail({ to: 'hello@example.com' }), 'blind@example.com')
    await until(() => world.smtp.taken.length === 2, 'the answers')
    const _any = await autoresponder('any@example.com', { answer: 'any' })
    await world.deliver(mail({ to: 'friend@example.org' }), 'any@example.com')
    await until(() => world.smtp.taken.length === 3, 'the answer')
  })

  test('old mail gets no automatic answer', async () => {
    const one = await autoresponder('old@example.com')
    const yesterday = new Date(Date.now() - 25 * 3_600_000).toUTCString()
    await world.deliver(mail({ headers: { Date: yesterday } }), 'old@example.com')
    await until(() => one.refused.length === 1, 'the silence')
    assert.deepEqual(one.refused, ['reply:too-old'])
    assert.equal(pathGet(one.store.messages[0]?.data, 'replyTarget.suppress'), 'too-old')
    assert.equal(one.store.messages.length, 1)
  })
})
