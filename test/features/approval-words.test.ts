import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Caller } from '../../src/core/call.ts'
import { createApprovalWords } from '../../src/features/approvals/words.ts'
import { messageOf } from '../runtime/support/message.ts'
import { startRuntime } from '../runtime/support/runtime.ts'
import { openStore } from '../runtime/support/store.ts'

const PROVEN = { id: 'ada', verified: true }
/** Sent again, it has the same Date. */
const OLD = Date.now() - 3_600_000
const MAIL = { transport: 'email', to: 'bot@example.com' }
const SAID = { to: [MAIL.to], allowed: true, date: Date.now() }

test('yes and no decide what waits in this conversation, by who may, and ask which where several do', async (t) => {
  const store = await openStore(t)
  const { approvals } = (await startRuntime(t, { store })).services
  const ask = async (text: string, conversation: string) => {
    const message = { id: `m-${text}`, gateway: 'chat', conversation, from: 'bob' }
    const what = { key: text, skill: 'deploy', args: { text }, title: 'Run deploy', by: 'chat:bob', message }
    const how = { approvers: ['chat:ada'], timeout: 60_000, onTimeout: 'deny' as const, trace: 't' }
    return (await approvals.request({ ...what, ...how })).id
  }
  const [one, two, elsewhere] = [await ask('v1', 'c1'), await ask('v2', 'c1'), await ask('v3', 'c2')]
  const decide = createApprovalWords(approvals, store.kv)
  let count = 0
  const [ada, bob] = ['ada', 'bob'].map((who): Caller => ({ kind: 'route', id: `chat:${who}` }))
  const says = (text: string, by = ada, parts = {}) =>
    decide(
      messageOf({
        id: `m${count++}`,
        text,
        conversation: 'c1',
        receivedAt: Date.now(),
        from: PROVEN,
        ...parts,
      }),
      by ?? assert.fail(),
    )
  const standing = async (id: string) => (await approvals.list({ id, limit: 1 }))[0]?.status

  for (const [text, by, parts] of [
    ['yes please', ada, {}],
    ['yes', bob, {}],
    ['yes', { kind: 'route' }, {}],
    ['yes', ada, { conversation: 'c3' }],
    ['yes', ada, { gateway: 'other' }],
    // Whoever waits for no answer is no chat, and mail reaches everybody.
    ['yes', ada, { transport: 'webhook' }],
    ['yes', ada, { ...MAIL, data: { ...SAID, allowed: false } }],
    ['yes', ada, { ...MAIL, data: { ...SAID, auto: 'auto-submitted' } }],
    ['yes', ada, { ...MAIL, data: { ...SAID, to: ['bob@example.com'], cc: [MAIL.to] } }],
    ['yes', ada, { ...MAIL, data: { ...SAID, date: OLD } }],
    ['yes', ada, { from: { id: 'ada' } }],
    // What it said before an edit was something else.
    ['yes', ada, { transport: 'slack', data: { direct: true, notice: true } }],
    // It waited behind the message that led to the question: who wrote it had not seen that.
    ['yes', ada, { receivedAt: Date.now() - 60_000 }],
    // Said to something else, and sent again by whoever may do that.
    ['yes', ada, { data: { resent: { of: 'm-0', by: 'http token:ci', edited: false } } }],
    // In a channel people say yes to each other.
    ['no', ada, { transport: 'slack', data: { mention: false, direct: false } }],
  ] as const)
    assert.equal(await says(text, by, parts), undefined, `${text} ${JSON.stringify(parts)}`)
  assert.equal(await says(`approve ${one}`, bob), 'You are not an approver of this request.')
  assert.match(
    (await says('Yes.')) ?? '',
    /^Several requests are waiting\. .*\n- approve \w{6}, or deny \w{6}: Run deploy: v1\n.*: v2$/s,
  )
  assert.match((await says(`approve ${elsewhere}`)) ?? '', /^There is no pending approval \w+ here\.$/)
  assert.equal(await says(` APPROVE approval-${one.slice(0, 6)}! `), 'Approved: Run deploy')
  assert.equal(await says('no'), 'Denied: Run deploy')
  assert.deepEqual(await Promise.all([one, two, elsewhere].map(standing)), ['approved', 'denied', 'pending'])
  // The command line is one conversation, and an operator's.
  const line = {
    transport: 'cli',
    gateway: 'chat',
    conversation: 'cli-1',
    from: { id: 'cli', verified: true },
  }
  assert.equal(await says('yes', bob, line), 'Approved: Run deploy')
  assert.equal(await standing(elsewhere), 'approved')
})

test('without proof of the sender nobody decides, even where everybody may; in mail and by webhook whom the gateway lets in does', async (t) => {
  const store = await openStore(t)
  const { approvals } = (await startRuntime(t, { store })).services
  const decide = createApprovalWords(approvals, store.kv)
  for (const [transport, from, data, answer] of [
    ['websocket', { id: 'ada' }, {}, undefined],
    ['websocket', PROVEN, {}, 'Approved: Run deploy'],
    ['email', { ...PROVEN, verified: false }, { allowed: true }, undefined],
    ['email', PROVEN, { allowed: true }, 'Approved: Run deploy'],
    ['webhook', { id: 'ada' }, { respond: 'result' }, undefined],
    ['webhook', PROVEN, { respond: 'result' }, 'Approved: Run deploy'],
  ] as const) {
    const id = `${transport}-${'verified' in from && from.verified}`
    const message = { id, gateway: 'chat', conversation: id, from: 'bob' }
    const what = { key: id, skill: 'deploy', args: {}, title: 'Run deploy', by: 'bob (unverified)', message }
    const how = { approvers: ['*'], timeout: 60_000, onTimeout: 'deny' as const, trace: 't' }
    const asked = await approvals.request({ ...what, ...how })
    const caller: Caller = answer ? { kind: 'route', id: 'chat:ada' } : { kind: 'route' }
    const said = messageOf({
      ...MAIL,
      id: `yes-${id}`,
      transport,
      conversation: id,
      receivedAt: Date.now(),
      from,
      text: 'Yes.',
      data: { ...SAID, allowed: false, ...data },
    })
    assert.equal(await decide(said, caller), answer, id)
    await assert.rejects(approvals.decide({ id: asked.id, approve: true }, { caller: { kind: 'route' } }), {
      code: 'forbidden',
    })
  }
})

test('a decision that comes again after a crash is answered the same, and decides nothing else', async (t) => {
  const store = await openStore(t)
  const { approvals } = (await startRuntime(t, { store })).services
  const ask = async (text: string) => {
    const message = { id: `m-${text}`, gateway: 'chat', conversation: 'c1', from: 'bob' }
    const what = { key: text, skill: 'deploy', args: { text }, title: `Run ${text}`, by: 'chat:bob', message }
    const how = { approvers: ['chat:ada'], timeout: 60_000, onTimeout: 'deny' as const, trace: 't' }
    return (await approvals.request({ ...what, ...how })).id
  }
  const ada: Caller = { kind: 'route', id: 'chat:ada' }
  const yes = messageOf({ id: 'yes', text: 'yes', from: PROVEN, receivedAt: Date.now() + 1_000 })
  /** The daemon is killed before or after the decision is on the store. */
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
  const first = await ask('first')
  const decide = createApprovalWords(approvals, store.kv)
  await assert.rejects(async () => killed('before')(yes, ada), /killed/)
  const second = await ask('second')
  await assert.rejects(async () => killed('after')(yes, ada), /killed/)
  for (const _ of [1, 2]) assert.equal(await decide(yes, ada), 'Approved: Run first')
  const standing = async (id: string) => (await approvals.list({ id, limit: 1 }))[0]?.status
  assert.deepEqual([await standing(first), await standing(second)], ['approved', 'pending'])

  const third = await ask('third')
  const which = { ...yes, id: 'which', receivedAt: Date.now() + 1_000 }
  const several = await decide(which, ada)
  assert.match(several ?? '', /^Several requests are waiting/)
  await approvals.decide({ id: third, approve: false }, { caller: ada })
  assert.equal(await decide(which, ada), several, 'who was asked which one did not mean the one that is left')
  assert.equal(await standing(second), 'pending')
})
