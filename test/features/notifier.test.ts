import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createNotifier } from '../../src/features/notify/notifier.ts'
import { createRule } from '../../src/features/notify/rule.ts'
import { until } from '../fixtures/until.ts'
import { cleanup } from '../runtime/support/cleanup.ts'
import { createMemoryLog } from '../runtime/support/log.ts'
import { openStore } from '../runtime/support/store.ts'

test('a rule whose state is unreadable is logged, and does not delay the other rules', async (t) => {
  const store = await openStore(t)
  const sent: string[] = []
  const outbox = {
    async sendTo(_gateway: string, to: string) {
      sent.push(to)
      return { id: to, queued: true }
    },
  }
  const ruleTo = (to: string) =>
    createRule(
      { id: to, on: ['dead-letter'], atMost: 'off', to: { gateway: 'team', to } },
      { store, outbox, now: Date.now },
    )
  const rules = [ruleTo('first'), ruleTo('second')]
  for (const rule of rules) await rule.begin()
  await store.kv.set('notify:first', { sent: 'often' })
  const log = createMemoryLog()
  const notifier = createNotifier({
    store,
    notify: { rules: () => rules, answer: async () => false },
    approvals: { list: async () => [] },
    troubles: async () => [],
    owner: 'a',
    log,
    now: Date.now,
  })
  const data = { severity: 'error', title: 'A dead letter', text: 'no luck', todo: 'look', where: {} }
  await store.topics.publish('trivium-operations', [{ type: 'dead-letter', source: 'trivium', data }])
  notifier.start()
  cleanup(t, () => notifier.stop())
  await until(() => sent.includes('second'), 'the notification of the second rule')
  assert.deepEqual(sent, ['second'])
  assert.deepEqual(
    log.lines.map(({ fields }) => Object(fields).rule),
    ['first'],
  )
})
