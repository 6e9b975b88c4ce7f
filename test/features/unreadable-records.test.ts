import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { type Json, objectsIn, toJson } from '../../src/core/json.ts'
import { HOUR } from '../../src/core/units.ts'
import { createLongWork } from '../../src/engine/long-work.ts'
import { createOutbox } from '../../src/engine/outbox.ts'
import { createApprovalService } from '../../src/features/approvals/approval-service.ts'
import { createPlannedSends } from '../../src/features/send-later/records.ts'
import { createSendLater } from '../../src/features/send-later/send-later.ts'
import { createSessionService } from '../../src/runtime/session/sessions.ts'
import { createMemoryBackend, type StateEntry } from '../../src/runtime/state/backends.ts'
import { until } from '../fixtures/until.ts'
import { cleanup } from '../runtime/support/cleanup.ts'
import { createMemoryLog } from '../runtime/support/log.ts'
import { openStore } from '../runtime/support/store.ts'
import { callFrom } from './kit.ts'

const operator = callFrom()
const NEWER: Json = { form: 'of a newer version' }
const TEXT = 'an unreadable record was skipped and left unchanged'

/** The keys of the unreadable records in a log, in their order. */
const reported = ({ lines }: ReturnType<typeof createMemoryLog>) =>
  lines.flatMap(({ fields, message }) => (message.startsWith(TEXT) && 'key' in fields ? [fields.key] : []))

describe('an unreadable record is skipped, logged once, and stays:', () => {
  test('an approval', async (t) => {
    const [store, log] = [await openStore(t), createMemoryLog()]
    const deps = { store, log, resume: async () => {}, onEvent: async () => {}, now: Date.now }
    const approvals = createApprovalService(deps)
    const common = { skill: 'pay', args: {}, title: 'Pay', by: 'ada', approvers: [], trace: 't' }
    const { id } = await approvals.request({ ...common, key: 'k', timeout: HOUR, onTimeout: 'deny' })
    for (const prefix of ['approval:', 'approval-open:']) await store.kv.set(`${prefix}newer`, NEWER)
    for (const status of [{}, { status: 'pending' as const }])
      assert.deepEqual(
        (await approvals.list({ limit: 10, ...status })).map((one) => one.id),
        [id],
      )
    await approvals.sweep()
    assert.deepEqual(reported(log), ['approval:newer'])
    assert.deepEqual((await store.kv.get('approval:newer'))?.value, NEWER)
    await assert.rejects(approvals.decide({ id: 'newer', approve: true }, operator), {
      code: 'state_corrupt',
    })
  })

  test('a session', async () => {
    const log = createMemoryLog()
    const empty = () => createMemoryBackend(Date.now, new Map<string, StateEntry>())
    const [file, memory, shared] = [empty(), empty(), empty()]
    const sessions = createSessionService({ file, memory, shared }, log)
    await shared.set('["chat","bob"]', NEWER)
    const id = { name: 'chat', key: 'ada', store: 'shared' } as const
    await sessions.append(id, { at: 1, result: 'hi' }, { maxEntries: 5, ttl: HOUR })
    const list = async () => objectsIn(toJson(await sessions.list({}, operator))).map((one) => one.key)
    assert.deepEqual([await list(), await list()], [['ada'], ['ada']])
    assert.deepEqual(reported(log), ['["chat","bob"]'])
    await assert.rejects(sessions.read({ ...id, key: 'bob' }), { code: 'state_corrupt' })
  })

  test('a long job', async (t) => {
    const [store, log] = [await openStore(t), createMemoryLog()]
    const work = createLongWork({ store, owner: 'a', log, now: Date.now })
    cleanup(t, () => work.stop())
    await store.kv.set('long-job:newer', NEWER)
    const job = await work.begin({ kind: 'dig', target: {}, data: null }, operator)
    const list = async () => (await work.service.list({ limit: 10 })).map((one) => Object(one).id)
    assert.deepEqual([await list(), await list()], [[job.id], [job.id]])
    assert.deepEqual(reported(log), ['long-job:newer'])
  })

  test('a planned send, which another version can still send', async (t) => {
    const stage = await makeSends(t)
    const { store, log, later, plan } = stage
    await store.kv.set('send-due:000000000000001:newer', 'newer')
    await store.kv.set('send-later:newer', NEWER)
    later.start()
    await plan('a')
    await until(() => stage.sent.includes('a'), 'the other send')
    assert.deepEqual((await store.kv.get('send-later:newer'))?.value, NEWER)
    assert.equal((await createPlannedSends(store.kv, log).due(1)).items[0]?.key, 'newer')
    assert.deepEqual(await later.service.list({ limit: 10 }, operator), [])
    assert.deepEqual(reported(log), ['send-later:newer'])
    const reserving = later.plan({ text: '', key: 'newer' }, TARGET, { key: 'newer', text: '' }, operator)
    await assert.rejects(async () => reserving, { code: 'state_corrupt' })
  })
})

test('due sends that fail do not hold up the others, and wait before their next attempt', async (t) => {
  const { later, plan, sent, attempts, pass } = await makeSends(t)
  const failing = Array.from({ length: 120 }, (_, n) => `failing-${n}`)
  for (const key of failing) await plan(key, HOUR)
  await plan('good', HOUR + 1)
  pass(2 * HOUR)
  later.start()
  await until(() => sent.includes('good'), 'the last send')
  assert.deepEqual(attempts.toSorted(), failing.toSorted())
})

const TARGET = { gateway: 'mail', to: 'ada@x' }

/** Planned sends of one daemon; the outbox rejects keys that begin with `failing`. */
async function makeSends(t: TestContext) {
  const [store, log] = [await openStore(t), createMemoryLog()]
  let ahead = 0
  const now = () => Date.now() + ahead
  const outbox = createOutbox(store, now)
  const [sent, attempts]: [string[], string[]] = [[], []]
  const sendTo: typeof outbox.sendTo = async (...args) => {
    const { key } = args[2]
    if (key.startsWith('failing')) {
      attempts.push(key)
      throw new Error('full')
    }
    sent.push(key)
    return outbox.sendTo(...args)
  }
  const later = createSendLater({
    store,
    outbox: { ...outbox, sendTo },
    unanswerable: () => undefined,
    log,
    now,
  })
  cleanup(t, () => later.stop())
  const pass = (ms: number) => {
    ahead += ms
  }
  const plan = (key: string, after = 1) =>
    later.plan({ text: key, in: after }, TARGET, { key, text: key }, operator)
  return { store, log, later, plan, sent, attempts, pass }
}
