import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { Caller } from '../../src/core/call.ts'
import type { Message } from '../../src/core/message.ts'
import { HOUR, MINUTE } from '../../src/core/units.ts'
import { createApprovalWords } from '../../src/features/approvals/words.ts'
import { messageOf } from '../runtime/support/message.ts'
import { startRuntime } from '../runtime/support/runtime.ts'
import { openStore } from '../runtime/support/store.ts'

const ADA: Caller = { kind: 'route', id: 'chat:ada' }
const BOB: Caller = { kind: 'route', id: 'chat:bob' }
/** A caller whose identity is not proven. */
const STRANGER: Caller = { kind: 'route' }
const VERIFIED = { id: 'ada', verified: true }
const MAIL = { transport: 'email', to: 'bot@example.com' }
const MAIL_DATA = { to: [MAIL.to], allowed: true, date: Date.now() }

async function start(t: TestContext) {
  const store = await openStore(t)
  const { approvals } = (await startRuntime(t, { store })).services
  return {
    approvals,
    store,
    decide: createApprovalWords(approvals, store.kv),
    /** Requests an approval for Bob's message `text` in a conversation, and returns its id. */
    async request(text: string, { conversation = 'c1', approvers = ['chat:ada'] } = {}): Promise<string> {
      const message = { id: `m-${text}`, gateway: 'chat', conversation, from: 'bob' }
      const { id } = await approvals.request({
        key: text,
        skill: 'deploy',
        args: { text },
        title: `Run deploy`,
        by: 'chat:bob',
        message,
        approvers,
        timeout: MINUTE,
        onTimeout: 'deny',
        trace: 't',
      })
      return id
    },
    status: async (id: string) => (await approvals.list({ id, limit: 1 }))[0]?.status,
  }
}

/** A verified message of Ada in the conversation c1. */
function fromAda(text: string, parts: Partial<Message> = {}): Message {
  return messageOf({
    id: `${text} ${JSON.stringify(parts)}`,
    text,
    conversation: 'c1',
    receivedAt: Date.now(),
    from: VERIFIED,
    ...parts,
  })
}

describe('an approval in words', () => {
  for (const { what, by = ADA, text = 'yes', parts = {} } of [
    { what: 'more words than yes', text: 'yes please' },
    { what: 'somebody who is not an approver', by: BOB },
    { what: 'an unverified caller', by: STRANGER },
    { what: 'an unverified sender', parts: { from: { id: 'ada' } } },
    { what: 'another conversation', parts: { conversation: 'c3' } },
    { what: 'another gateway', parts: { gateway: 'other' } },
    { what: 'a webhook, which is not a chat', parts: { transport: 'webhook' } },
    { what: 'a mail that is not allowed', parts: { ...MAIL, data: { ...MAIL_DATA, allowed: false } } },
    { what: 'an automatic mail', parts: { ...MAIL, data: { ...MAIL_DATA, auto: 'auto-submitted' } } },
    {
      what: 'a mail to somebody else with a copy',
      parts: { ...MAIL, data: { ...MAIL_DATA, to: ['bob@example.com'], cc: [MAIL.to] } },
    },
    {
      what: 'an old mail that somebody has sent again',
      parts: { ...MAIL, data: { ...MAIL_DATA, date: Date.now() - HOUR } },
    },
    {
      what: 'an edited message, which said something else before',
      parts: { transport: 'slack', data: { direct: true, notice: true } },
    },
    { what: 'a message from before the request', parts: { receivedAt: Date.now() - MINUTE } },
    {
      what: 'a message that a program has sent again',
      parts: { data: { resent: { of: 'm-0', by: 'http token:ci', edited: false } } },
    },
    {
      what: 'people in a channel, who say no to each other',
      text: 'no',
      parts: { transport: 'slack', data: { mention: false, direct: false } },
    },
  ])
    test(`is not taken from ${what}`, async (t) => {
      const { decide, request, status } = await start(t)
      const id = await request('v1')
      assert.equal(await decide(fromAda(text, parts), by), undefined)
      assert.equal(await status(id), 'pending')
    })

  test('decides the request of its conversation, and asks which if several wait', async (t) => {
    const { decide, request, status } = await start(t)
    const [one, two] = [await request('v1'), await request('v2')]
    const elsewhere = await request('v3', { conversation: 'c2' })
    assert.equal(await decide(fromAda(`approve ${one}`), BOB), 'You are not an approver of this request.')
    assert.match(
      (await decide(fromAda('Yes.'), ADA)) ?? '',
      /^Several requests are waiting\. .*\n- approve \w{6}, or deny \w{6}: Run deploy: v1\n.*: v2$/s,
    )
    assert.match(
      (await decide(fromAda(`approve ${elsewhere}`), ADA)) ?? '',
      /^There is no pending approval \w+ here\.$/,
    )
    const shortId = one.slice(0, 6)
    assert.equal(await decide(fromAda(` APPROVE approval-${shortId}! `), ADA), 'Approved: Run deploy')
    assert.equal(await decide(fromAda('no'), ADA), 'Denied: Run deploy')
    assert.deepEqual(await Promise.all([one, two, elsewhere].map(status)), ['approved', 'denied', 'pending'])
  })

  test('decides any request on the command line, which is the conversation of operators', async (t) => {
    const { decide, request, status } = await start(t)
    const id = await request('v1', { conversation: 'c2' })
    const line = { transport: 'cli', conversation: 'cli-1', from: { id: 'cli', verified: true } }
    assert.equal(await decide(fromAda('yes', line), BOB), 'Approved: Run deploy')
    assert.equal(await status(id), 'approved')
  })

  for (const [transport, data] of [
    ['websocket', {}],
    ['email', { ...MAIL_DATA }],
    ['webhook', { respond: 'result' }],
  ] as const) {
    test(`needs a verified sender by ${transport}, even if everybody may approve`, async (t) => {
      const { approvals, decide, request } = await start(t)
      const id = await request('v1', { approvers: ['*'] })
      const unverified = fromAda('yes', { ...MAIL, transport, data, from: { id: 'ada', verified: false } })
      assert.equal(await decide(unverified, STRANGER), undefined)
      const decision = approvals.decide({ id, approve: true }, { caller: STRANGER })
      await assert.rejects(decision, { code: 'forbidden' })
      const verified = fromAda('yes', { ...MAIL, transport, data })
      assert.equal(await decide(verified, ADA), 'Approved: Run deploy')
    })
  }

  test('decides the same request if its message is tried again after a crash', async (t) => {
    const { approvals, store, decide, request, status } = await start(t)
    /** A daemon that is killed before or after it stores the decision. */
    const killed = (when: 'before' | 'after') =>
      createApprovalWords(
        {
          list: approvals.list,
          async decide(...args) {
            if (when === 'after') await approvals.decide(...args)
            throw new Error('killed')
          },
        },
        store.kv,
      )
    const yes = fromAda('yes', { receivedAt: Date.now() + 1_000 })
    const first = await request('first')
    await assert.rejects(async () => killed('before')(yes, ADA), /killed/)
    const second = await request('second')
    await assert.rejects(async () => killed('after')(yes, ADA), /killed/)
    for (const _ of [1, 2]) assert.equal(await decide(yes, ADA), 'Approved: Run deploy')
    assert.deepEqual([await status(first), await status(second)], ['approved', 'pending'])
  })

  test('that was ambiguous decides nothing if its message is tried again', async (t) => {
    const { approvals, decide, request, status } = await start(t)
    const [first, second] = [await request('first'), await request('second')]
    const yes = fromAda('yes', { receivedAt: Date.now() + 1_000 })
    const answer = await decide(yes, ADA)
    assert.match(answer ?? '', /^Several requests are waiting/)
    await approvals.decide({ id: first, approve: false }, { caller: ADA })
    assert.equal(await decide(yes, ADA), answer)
    assert.equal(await status(second), 'pending')
  })
})
