import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { pathGet } from '../../../src/core/json.ts'
import { until } from '../../fixtures/until.ts'
import { cursorOf, mail, replyTo, startMailServer } from './harness.ts'

const mailServer = await startMailServer()

describe('an autoresponder', () => {
  beforeEach(() => {
    mailServer.smtp.taken.length = 0
  })

  const running: (() => Promise<void>)[] = []
  // The next test would count an answer that is still being sent.
  afterEach(async () => {
    for (const stop of running.splice(0)) await stop()
  })

  /** A daemon that answers every message, like a careless skill. */
  const autoresponder = async (address: string, options: object = {}) => {
    const daemon = await mailServer.daemon({ address, ...options }, { gateway: address, start: 'later' })
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

  test('stops after one answer when it faces another autoresponder', async () => {
    const one = await autoresponder('one@example.com')
    const two = await autoresponder('two@example.org')
    await mailServer.deliver(mail({ from: 'two@example.org', to: 'one@example.com' }), 'one@example.com')
    // `one` answers. `two` accepts the answer, tries to answer it, and is refused.
    await until(() => two.refused.length > 0, 'the refusal of the second')
    assert.deepEqual(two.refused, ['reply:auto-submitted'])
    assert.equal(mailServer.smtp.taken.length, 1)
    assert.equal(one.store.messages.length, 1)
  })

  test('stops at its budget, with an error, if the peer does not look automatic', async () => {
    const one = await autoresponder('budget@example.com', { 'reply-budget': '3/h' })
    for (let round = 0; round < 5; round++) {
      await mailServer.deliver(
        mail({ from: 'liar@example.org', text: `round ${round}` }),
        'budget@example.com',
      )
    }
    await until(() => one.errors.length === 2, 'the two answers over the budget')
    await until(() => mailServer.smtp.taken.length >= 3, 'the answers within the budget')
    assert.deepEqual(one.refused, ['reply:budget', 'reply:budget'])
    assert.match(String(one.errors[0]), /budget of automatic replies to liar@example\.org/)
    const [last] = one.store.messages.slice(-1)
    assert.ok(last)
    await one.transport.send(replyTo(last, 'retried by an operator, from the dead letters'))
    await until(() => mailServer.smtp.taken.length >= 4, 'the retried answer')
    await mailServer.deliver(mail({ from: 'other@example.org' }), 'budget@example.com')
    await until(() => mailServer.smtp.taken.length >= 5, 'the answer to another sender')
    assert.equal(mailServer.smtp.taken.length, 5)
  })

  test('stops after a few answers in a thread to a robot that changes its address', async () => {
    const one = await autoresponder('robot@example.com')
    let parent = ''
    const robots = ['ticket', 'Ticket', 'ticket'].flatMap((name, index) => [
      `${name}+${index}@r.example`,
      `${name}${index}@r.example`,
    ])
    for (const [index, from] of robots.entries()) {
      await mailServer.deliver(
        mail({ from, headers: parent ? { 'In-Reply-To': parent } : {} }),
        'robot@example.com',
      )
      await until(
        () => mailServer.smtp.taken.length > index || one.refused.length > 0,
        'an answer or a refusal',
      )
      if (one.refused.length > 0) break
      parent = /^Message-ID: (<.*>)/im.exec(String(mailServer.smtp.taken.at(-1)?.raw))?.[1] ?? ''
    }
    assert.deepEqual(one.refused, ['reply:budget'])
    assert.equal(mailServer.smtp.taken.length, 3)
    assert.equal(new Set(one.store.messages.map(({ conversation }) => conversation)).size, 1)
  })

  test('stops at the budget of a domain, also after a restart, if a robot has new addresses and no thread', async () => {
    const one = await autoresponder('domain@example.com')
    const write = async (from: string) => {
      const before = one.store.messages.length
      await mailServer.deliver(mail({ from, subject: `Your request ${from}` }), 'domain@example.com')
      await until(() => one.store.messages.length > before, 'the message')
    }
    let count = 0
    for (; count < 20 && one.errors.length === 0; count++) {
      await write(`ticket-${count}@mail${count}.robot.example`)
      await until(() => mailServer.smtp.taken.length + one.errors.length > count, 'an answer or an error')
    }
    assert.match(
      String(one.errors[0]),
      /budget of automatic replies to robot\.example is used up .*reply-budget\.domain/,
    )
    assert.ok(mailServer.smtp.taken.length <= 11, `${mailServer.smtp.taken.length} answers`)
    assert.match(one.transport.health().warning ?? '', /no automatic replies to robot\.example/)
    const last = one.store.messages.at(-1)
    assert.ok(last)
    const restarted = await mailServer.daemon(
      { address: 'domain@example.com' },
      { gateway: 'domain@example.com', store: one.store, start: 'later' },
    )
    const next = replyTo({ ...last, id: 'another' }, 'I got your mail.')
    await assert.rejects(restarted.transport.send(next), /budget of automatic replies to robot\.example/)
    await mailServer.deliver(mail({ from: 'bob@company.example' }), 'domain@example.com')
    await until(
      () => mailServer.smtp.taken.some(({ to }) => to.includes('bob@company.example')),
      'the answer to Bob',
    )
  })

  test('counts addresses that differ in tags or case as one correspondent', async () => {
    const one = await autoresponder('tags@example.com', { 'reply-budget': '1/h' })
    for (const from of ['liar@example.org', 'Liar+1@example.org'])
      await mailServer.deliver(mail({ from }), 'tags@example.com')
    await until(
      () => one.refused.length === 1 && mailServer.smtp.taken.length === 1,
      'one answer and one refusal',
    )
  })

  test('does not accept a copy of its own mail from a list or a rule', async () => {
    const one = await autoresponder('copy@example.com')
    await mailServer.deliver(mail({ from: 'anna@example.net' }), 'copy@example.com')
    const own = await until(() => mailServer.smtp.taken[0], 'the answer')
    await mailServer.deliver(own.raw, 'copy@example.com')
    await mailServer.deliver(mail({ from: 'bob@example.net', text: 'next' }), 'copy@example.com')
    await until(() => one.store.messages.length === 2, 'the next message')
    assert.deepEqual(
      one.store.messages.map(({ from }) => from.address),
      ['anna@example.net', 'bob@example.net'],
    )
  })

  test('does not answer its own addresses or those of robots, also in Reply-To', async () => {
    const one = await autoresponder('own@example.com', { aliases: ['Info@example.com'] })
    await mailServer.deliver(mail({ from: 'own@example.com' }), 'own@example.com')
    await mailServer.deliver(mail({ from: 'INFO@example.com' }), 'own@example.com')
    await mailServer.deliver(mail({ headers: { 'Reply-To': 'info@example.com' } }), 'own@example.com')
    await mailServer.deliver(mail({ headers: { 'Reply-To': 'noreply@example.net' } }), 'own@example.com')
    await until(() => one.refused.length === 4, 'four refusals')
    assert.deepEqual(one.refused.sort(), [
      'reply:own-address',
      'reply:own-address',
      'reply:own-address',
      'reply:robot-address',
    ])
    assert.equal(mailServer.smtp.taken.length, 0)
  })

  test('answers mail through an alias, but not a blind copy, unless `answer: any` is set', async () => {
    const one = await autoresponder('blind@example.com')
    await mailServer.deliver(mail({ to: 'friend@example.org' }), 'blind@example.com')
    await until(() => one.refused.length === 1, 'the refusal')
    assert.deepEqual(one.refused, ['reply:not-addressed'])
    assert.equal(one.store.messages[0]?.data.auto, undefined)
    const trace = { Received: 'from x by mx.example.org with ESMTP id 1 for <hello@example.org>; Sat' }
    await mailServer.deliver(mail({ to: 'hello@example.org', headers: trace }), 'blind@example.com')
    await mailServer.deliver(mail({ to: 'hello@example.com' }), 'blind@example.com')
    await until(() => mailServer.smtp.taken.length === 2, 'the answers')
    await autoresponder('any@example.com', { answer: 'any' })
    await mailServer.deliver(mail({ to: 'friend@example.org' }), 'any@example.com')
    await until(() => mailServer.smtp.taken.length === 3, 'the answer')
  })

  test('does not answer old mail', async () => {
    const one = await autoresponder('old@example.com')
    const yesterday = new Date(Date.now() - 25 * 3_600_000).toUTCString()
    await mailServer.deliver(mail({ headers: { Date: yesterday } }), 'old@example.com')
    await until(() => one.refused.length === 1, 'the refusal')
    assert.deepEqual(one.refused, ['reply:too-old'])
    assert.equal(pathGet(one.store.messages[0]?.data, 'replyTarget.suppress'), 'too-old')
    assert.equal(one.store.messages.length, 1)
  })
})
