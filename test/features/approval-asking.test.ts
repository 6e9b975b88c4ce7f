import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApprovalAsking } from '../../src/features/approvals/asking.ts'
import { openStore } from '../runtime/support/store.ts'

const APPROVAL = {
  id: 'approval-1',
  key: 'key',
  skill: 'refund',
  args: {},
  title: 'Refund?',
  by: 'ada',
  timeout: 300_000,
  onTimeout: 'deny',
  trace: 't',
  status: 'pending',
  requestedAt: 0,
  expiresAt: 60_000,
} as const

test('a question is mailed to the addresses among the approvers, not to globs, regexes and groups', async (t) => {
  const asked: string[] = []
  const asking = createApprovalAsking({
    store: await openStore(t),
    outbox: {
      reply: async () => assert.fail('there is no message'),
      async sendTo(_gateway, to) {
        asked.push(to)
        return { id: to, queued: true }
      },
    },
    access: { expand: (member) => [member] },
    gateways: { spec: (name) => ({ name, transport: 'email', options: {}, open: true }) },
    publicUrl: () => undefined,
    now: () => 0,
  })
  const approvers = [
    'ann@example.com',
    '*@example.com',
    '{ann,bob}@example.com',
    String.raw`ann\@example.com`,
    String.raw`/(ann|bob)@example\.com/`,
    '/.+@example.com/',
    '/ann@example.com/i',
    'group:sales@example.com',
  ]
  await asking.ask({ ...APPROVAL, approvers: approvers.map((name) => `support:${name}`) }, {})
  assert.deepEqual(asked, ['ann@example.com'])
})
