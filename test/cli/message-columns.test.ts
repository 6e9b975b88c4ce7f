import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withAttempts } from '../../src/cli/with-attempts.ts'
import type { Json } from '../../src/core/json.ts'
import { humanMessages } from '../../src/engine/print/messages.ts'
import { wholeText } from '../../src/lib/printed.ts'

const message = {
  id: '…474f57ee7',
  at: Date.now() - 3_600_000,
  gateway: 'storefront',
  from: { id: '127.0.0.1' },
  outcome: 'waiting',
  event: 'orders/create',
  summary: '#5031 · total_price: 20.00 · currency: EUR',
  attempt: { route: 'confirm-orders', pausedBy: [{ kind: 'route', name: 'confirm-orders' }] },
}

test('a list of messages has the event, and at 80 columns the gateway and the number of an order', (t) => {
  const { columns } = process.stdout
  t.after(() => {
    process.stdout.columns = columns
  })
  const at = (width: number) => {
    process.stdout.columns = width
    return wholeText(humanMessages({ messages: [message] }))
  }
  assert.match(
    at(160),
    / storefront .*paused: route confirm-orders\s+confirm-orders\s+orders\/create\s+#5031 /,
  )
  assert.match(at(80), / storefront .* paused: .* #5031 /)
})

test('at a terminal, a handled message says whether it was answered, and its attempts if it took several', (t) => {
  const { isTTY, columns } = process.stdout
  t.after(() => {
    Object.assign(process.stdout, { isTTY, columns })
  })
  const rowOf = (attempt: Record<string, Json>, outcome = 'done') =>
    wholeText(humanMessages({ messages: [{ ...message, outcome, attempt }] })).split('\n')[1] ?? ''
  Object.assign(process.stdout, { isTTY: true, columns: 120 })
  assert.match(rowOf({ attempt: 1, answered: true }), / answered {2}/)
  assert.match(rowOf({ attempt: 3, answered: true }), / answered ×3 /)
  assert.match(rowOf({ attempt: 2, answered: false }), / done ×2 /)
  assert.match(rowOf({ attempt: 1, answered: true, unsent: 'too old' }), / done {2}/)
  assert.doesNotMatch(rowOf({ attempt: 3 }, 'dead'), /×/)
  // The names of outcomes, which `--outcome` takes.
  Object.assign(process.stdout, { isTTY: false, columns: undefined })
  assert.match(rowOf({ attempt: 3, answered: true }), /\tdone\t/)
})

test('a search without a match looks in the errors of dead letters', async () => {
  const daemon = {
    running: true,
    invoke: async (_: string, args: unknown): Promise<Json> =>
      JSON.stringify(args).includes('"error":"502"') ? [{ id: 'letter' }] : [],
  }
  const search = (text: string) => withAttempts(daemon, { messages: [] }, { search: text })
  assert.deepEqual(await search('502'), { messages: [], deadWithError: '502' })
  assert.deepEqual(await search('503'), { messages: [] })
})

test('a search without a match looks in the errors of retrying messages', async () => {
  const answers: Record<string, Json> = {
    'message-search': { messages: [{ id: 'm1' }] },
    'message-attempts': [{ id: 'm1', route: 'loyalty', error: 'Skill loyalty failed: 423 Locked' }],
    'dead-letter-list': [],
  }
  const daemon = { running: true, invoke: async (name: string): Promise<Json> => answers[name] ?? null }
  const found = await withAttempts(daemon, { messages: [] }, { search: '423 locked' })
  assert.deepEqual(found, { messages: [], retryingWithError: 'loyalty' })
  const hint = wholeText(humanMessages(found, { search: '423 locked' }))
  assert.match(hint, /`trivium message list --search 'error:"423 locked"'`/)
  assert.deepEqual(await withAttempts(daemon, { messages: [] }, { search: '424' }), { messages: [] })
})

test('a time until the next attempt is not cut at 80 columns', (t) => {
  const { columns } = process.stdout
  t.after(() => {
    process.stdout.columns = columns
  })
  process.stdout.columns = 80
  const attempt = { route: 'loyalty', nextAt: Date.now() + 103 * 60_000 + 500 }
  const waiting = { ...message, outcome: 'retrying', attempt, from: { name: 'Bjarne Holmström-Lindqvist' } }
  const text = wholeText(humanMessages({ messages: [waiting] }))
  assert.match(text, / retrying in 10[23] min /)
  assert.ok(text.split('\n').every((line) => line.length <= 80))
})

test('a search without a match names the dead letters that have its text in their error', () => {
  const found = { messages: [], deadWithError: '502 Bad Gateway' }
  assert.match(wholeText(humanMessages(found)), /`trivium dead-letter list --error '502 Bad Gateway'`/)
  assert.match(wholeText(humanMessages(found)), /`trivium message list --search 'error:"502 Bad Gateway"'`/)
  assert.equal(wholeText(humanMessages({ messages: [] })), 'No messages.')
})
