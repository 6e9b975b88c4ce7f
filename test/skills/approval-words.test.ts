import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Caller } from '../../src/core/call.ts'
import { createApprovalWords } from '../../src/daemon/approval-words.ts'
import { messageOf } from './support/message.ts'
import { startRuntime } from './support/runtime.ts'

test('yes and no decide what waits in this conversation, by who may, and ask which where several do', async (t) => {
  const { approvals } = (await startRuntime(t)).services
  const ask = async (text: string, conversation: string) => {
    const message = { id: `m-${text}`, gateway: 'chat', conversation, from: 'bob' }
    const what = { key: text, skill: 'deploy', args: { text }, title: 'Run deploy', by: 'chat:bob', message }
    const how = { approvers: ['chat:ada'], timeout: 60_000, onTimeout: 'deny' as const, trace: 't' }
    return (await approvals.request({ ...what, ...how })).id
  }
  const [one, two, elsewhere] = [await ask('v1', 'c1'), await ask('v2', 'c1'), await ask('v3', 'c2')]
  const decide = createApprovalWords(approvals)
  const [ada, bob] = ['ada', 'bob'].map((who): Caller => ({ kind: 'route', id: `chat:${who}` }))
  const says = (text: string, by = ada, parts = {}) =>
    decide(messageOf({ text, conversation: 'c1', receivedAt: Date.now(), ...parts }), by ?? assert.fail())
  const standing = async (id: string) => (await approvals.list({ id, limit: 1 }))[0]?.status

  for (const [text, by, parts] of [
    ['yes please', ada, {}],
    ['yes', bob, {}],
    ['yes', { kind: 'route' }, {}],
    ['yes', ada, { conversation: 'c3' }],
    ['yes', ada, { gateway: 'other' }],
    ['yes', ada, { transport: 'webhook' }],
    // It waited behind the message that led to the question: who wrote it had not seen that.
    ['yes', ada, { receivedAt: Date.now() - 60_000 }],
    // Said to something else, and sent again by whoever may do that.
    ['yes', ada, { data: { resent: { of: 'm-0', by: 'http token:ci', edited: false } } }],
    // In a channel people say yes to each other.
    ['no', ada, { transport: 'slack', data: { mention: false, direct: false } }],
  ] as const)
    assert.equal(await says(text, by, parts), undefined, `${text} ${JSON.stringify(parts)}`)
  assert.equal(await says(`approve ${one}`, bob), 'You may not decide that.')
  assert.match(
    (await says('Yes.')) ?? '',
    /^Several wait .*\n- approve \w{6}, or deny \w{6}: Run deploy: v1\n.*: v2$/s,
  )
  assert.match((await says(`approve ${elsewhere}`)) ?? '', /^No approval \w+ waits here\.$/)
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
