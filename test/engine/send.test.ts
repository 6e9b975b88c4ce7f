import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { TriviumError } from '../../src/core/errors.ts'
import type { JsonObject } from '../../src/core/json.ts'
import type { Message } from '../../src/core/message.ts'
import type { JobEnd } from '../../src/core/store.ts'
import type { Sending } from '../../src/engine/outbox.ts'
import { createSend } from '../../src/engine/send.ts'
import { defined } from '../../src/lib/defined.ts'
import { messageOf } from '../runtime/support/message.ts'
import { callOf } from './kit.ts'

const message = messageOf({ id: 'm1', gateway: 'chat' })

/** `state`: how sends end. */
function stage(state?: JobEnd) {
  const known = [
    message,
    messageOf({ id: 'm2', gateway: 'chat', conversation: 'c2' }),
    messageOf({ id: 'm3', gateway: 'open', conversation: 'c3' }),
  ]
  const get = async (id: string) => known.find((each) => each.id === id)
  const sent: { where: string; key: string; data?: JsonObject }[] = []
  const copies: Partial<Sending>[] = []
  const keys = new Set<string>()
  const add = (where: string, { key, data, moreTo, cc, bcc, replyAll, calendar }: Sending) => {
    copies.push(defined({ moreTo, cc, bcc, replyAll, calendar }))
    const queued = !keys.has(key)
    keys.add(key)
    sent.push({ where, key, ...(data ? { data } : {}) })
    return Promise.resolve({ id: `outbox:${key}`, queued })
  }
  const { send } = createSend({
    outbox: {
      reply: (message: Message, sending) => add(`reply ${message.id}`, sending),
      replyAt: (message: Message, to, sending) => add(`reply ${message.id} at ${to}`, sending),
      sendTo: (gateway, to, sending) => add(`${gateway} ${to}`, sending),
      wait: async () => state,
    },
    store: { journal: { get }, receive: { leased: async (receipt) => get(receipt.replace('receipt-', '')) } },
    gateway: (name) => ({ open: { name: 'open', open: true }, chat: { name: 'chat', open: false } })[name],
    transport: (name) => ({
      ...(name === 'open' ? { severalTargets: true as const } : {}),
      async requireTarget(to) {
        if (to === 'nowhere')
          throw new TriviumError('conversation_not_found', { gateway: 'open', conversation: to })
      },
    }),
    files: { requireAll: async () => {} },
    later: () => undefined,
    newKey: () => 'random',
  })
  return { send, sent, copies }
}

/** A call by the skill that handles `message`. */
const callOfSkill = () => callOf({ message, route: 'r' })

describe('gateway-send', () => {
  test('passes on several targets, copies, and `replyAll` or `reply-all`', async () => {
    const { send, sent, copies } = stage()
    const call = callOf({})
    await send({ gateway: 'open', to: ['a', 'b'], cc: 'c', bcc: ['d', 'e'], text: 'hi' }, call)
    await send({ gateway: 'open', to: ['a'], text: 'hi' }, call)
    await send({ messageId: 'm3', 'reply-all': true, text: 'hi' }, call)
    await send({ messageId: 'm3', replyAll: true, calendar: 'accept', cc: 'c', text: 'hi' }, call)
    assert.deepEqual(
      sent.map(({ where }) => where),
      ['open a', 'open a', 'reply m3', 'reply m3'],
    )
    assert.deepEqual(copies, [
      { moreTo: ['b'], cc: ['c'], bcc: ['d', 'e'] },
      {},
      { replyAll: true },
      { replyAll: true, calendar: 'accept', cc: ['c'] },
    ])
  })

  test('refuses copies without support by the transport, several targets on a closed gateway, and `replyAll` without a message', async () => {
    const { send, sent } = stage()
    const refused: [args: Omit<Parameters<typeof send>[0], 'text'>, code: string][] = [
      [{ messageId: 'm1', replyAll: true }, 'send_rejected'],
      [{ messageId: 'm1', cc: 'c' }, 'send_rejected'],
      [{ gateway: 'open', to: 'a', replyAll: true }, 'send_rejected'],
      [{ gateway: 'open', to: 'a', calendar: 'decline' }, 'send_rejected'],
      [{ gateway: 'chat', to: ['a', 'b'] }, 'target_not_allowed'],
    ]
    for (const [args, code] of refused)
      await assert.rejects(send({ ...args, text: 'hi' }, callOf({})), { code })
    assert.deepEqual(sent, [])
  })

  test('refuses an unknown target before it counts the send', async () => {
    const { send, sent } = stage()
    const call = callOfSkill()
    await assert.rejects(send({ gateway: 'open', to: 'nowhere', text: 'hi' }, call), {
      code: 'conversation_not_found',
    })
    assert.deepEqual([sent, call.sends.count], [[], 0])
    assert.equal((await send({ gateway: 'open', to: 'somewhere', text: 'hi' }, call)).duplicate, false)
  })

  test('replies in the conversation of its message, with the same keys in each attempt', async () => {
    const { send, sent } = stage()
    for (const call of [callOfSkill(), callOfSkill()]) {
      await send({ text: 'a' }, call)
      await send({ text: 'b', gateway: 'chat' }, call)
    }
    const perAttempt = [
      { where: 'reply m1', key: 'm1:r:0' },
      { where: 'reply m1', key: 'm1:r:1' },
    ]
    assert.deepEqual(sent, [...perAttempt, ...perAttempt])
  })

  test('reports a repeated key as a duplicate, but not the same key on another gateway', async () => {
    const { send, sent } = stage()
    assert.equal((await send({ text: 'a', key: 'k' }, callOfSkill())).duplicate, false)
    assert.equal((await send({ text: 'a', key: 'k' }, callOfSkill())).duplicate, true)
    await send({ text: 'a', key: 'k', gateway: 'open', to: 'bob' }, callOfSkill())
    assert.deepEqual([...new Set(sent.map(({ key }) => key))], ['chat:k', 'open:k'])
  })

  test('sends to other targets on open gateways only', async () => {
    const { send, sent } = stage()
    await send({ text: 'a', gateway: 'open', to: 'bob' }, callOfSkill())
    assert.equal(sent[0]?.where, 'open bob')
    for (const [args, code] of [
      [{ gateway: 'chat', to: 'bob' }, 'target_not_allowed'],
      [{ gateway: 'none', to: 'bob' }, 'gateway_not_found'],
      [{ to: 'bob' }, 'no_reply_target'],
      [{ gateway: 'open' }, 'no_reply_target'],
    ] as const) {
      await assert.rejects(send({ text: 'a', ...args }, callOfSkill()), { code })
    }
    assert.equal(sent.length, 1)
  })

  test('answers a message at another address, on open gateways of a transport for mail', async () => {
    const { send, sent, copies } = stage()
    await send({ text: 'a', messageId: 'm3', to: ['bob', 'eve'], key: 'k' }, callOf({}))
    assert.deepEqual(sent, [{ where: 'reply m3 at bob', key: 'answer:m3:k' }])
    assert.deepEqual(copies, [{ moreTo: ['eve'] }])
    for (const [args, code] of [
      [{ messageId: 'm1', to: 'bob' }, 'target_not_allowed'],
      [{ messageId: 'm3', to: 'nowhere' }, 'conversation_not_found'],
      [{ messageId: 'm3', to: 'bob', replyAll: true }, 'send_rejected'],
    ] as const)
      await assert.rejects(send({ text: 'a', ...args }, callOf({})), { code })
    assert.equal(sent.length, 1)
  })

  test('passes on data for the transport, but refuses a forged approval', async () => {
    const { send, sent } = stage()
    await send({ text: '', data: { view: { type: 'modal' } } }, callOfSkill())
    assert.deepEqual(sent[0]?.data, { view: { type: 'modal' } })
    const data = { approval: { id: 'a1', title: 'harmless' } }
    await assert.rejects(send({ text: 'x', data }, callOfSkill()), { code: 'send_rejected' })
    assert.equal(sent.length, 1)
  })

  test('refuses replies to other conversations, for skills and for tokens with other gateways', async () => {
    const { send, sent } = stage()
    await send({ text: 'own', messageId: 'm1' }, callOfSkill())
    await send({ text: 'open', messageId: 'm3' }, callOfSkill())
    await assert.rejects(send({ text: 'a', messageId: 'm2' }, callOfSkill()), { code: 'forbidden' })
    const program = callOf({ caller: { kind: 'http', id: 'crm', gateways: ['open'] } })
    await send({ text: 'a', messageId: 'm3' }, program)
    for (const args of [{ messageId: 'm1' }, { receipt: 'receipt-m1' }, { gateway: 'chat', to: 'bob' }]) {
      await assert.rejects(send({ text: 'a', ...args }, program), { code: 'forbidden' })
    }
    assert.equal(sent.length, 3)
  })

  test('with `wait` returns the receipt, and throws if the send was rejected', async () => {
    const done = stage({ state: 'done', at: 0, result: { receipt: { id: 'r' } } })
    assert.deepEqual(await done.send({ text: 'a', wait: 10 }, callOfSkill()), {
      key: 'm1:r:0',
      sent: true,
      duplicate: false,
      receipt: { id: 'r' },
    })
    const dead = stage({ state: 'dead', at: 0, error: { at: 0, code: 'x', message: '403' } })
    await assert.rejects(dead.send({ text: 'a', wait: 10 }, callOfSkill()), /chat.*403/)
    assert.equal((await stage().send({ text: 'a', wait: 10 }, callOfSkill())).sent, false)
  })
})
