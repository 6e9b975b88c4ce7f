import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { TriviumError } from '../../src/core/errors.ts'
import type { Outcome } from '../../src/core/message-query.ts'
import { createRunCancel } from '../../src/features/pauses/cancel.ts'
import { createPauses } from '../../src/features/pauses/pauses.ts'
import { createPauseRecords } from '../../src/features/pauses/records.ts'
import { callOf, newMessage } from '../engine/kit.ts'
import { until } from '../fixtures/until.ts'
import { openStore } from '../runtime/support/store.ts'
import { silent } from './kit.ts'

const MESSAGE = {
  ...newMessage(),
  id: 'm1',
  conversation: 'c1',
  receivedAt: 0,
  trace: 'a'.repeat(32),
  attachments: [],
}

const requests = { list: async () => [], decide: () => assert.fail('there is no request') }

/** The pauses of a store, and the ids of the stored requests to cancel. */
async function openPauses(t: TestContext) {
  const store = await openStore(t)
  const queues = { dispatch: 'dispatch', runs: ['schedules'] }
  const pauses = createPauses({ store, queues, routes: () => [], log: silent, now: Date.now })
  const { load } = createPauseRecords(store.kv)
  const requested = async () => (await load()).cancels.map(({ messageId }) => messageId)
  return { pauses, jobs: store.jobs, requested }
}

describe('the cancellation of a run', () => {
  test('is removed if the store becomes unavailable during the wait, so that no later attempt is cancelled', async (t) => {
    const { pauses, jobs, requested } = await openPauses(t)
    const cancelsDuringWait: string[] = []
    let reads = 0
    const journal = {
      get: async () => MESSAGE,
      history: async () => [],
      async outcomes(): Promise<Outcome[]> {
        reads++
        const isCheckBeforeTheWait = reads === 1
        if (isCheckBeforeTheWait) return ['running']
        cancelsDuringWait.push(...(await requested()))
        throw new TriviumError('store_unavailable', { store: 'a shard', reason: 'the test says so' })
      },
    }
    const cancel = createRunCancel({ pauses, journal, jobs, requests, now: Date.now })
    await assert.rejects(cancel({ messageId: 'm1', drop: false }, callOf({ caller: { kind: 'cli' } })), {
      code: 'store_unavailable',
    })
    assert.deepEqual(cancelsDuringWait, ['m1'])
    assert.deepEqual(await requested(), [])
  })

  test('remains requested if its caller disconnects, until the attempt has ended', async (t) => {
    const { pauses, jobs, requested } = await openPauses(t)
    const caller = new AbortController()
    let outcome: Outcome = 'running'
    let readsAfterDisconnect = 0
    const journal = {
      get: async () => MESSAGE,
      history: async () => [],
      async outcomes(): Promise<Outcome[]> {
        if (caller.signal.aborted) readsAfterDisconnect++
        return [outcome]
      },
    }
    const cancel = createRunCancel({ pauses, journal, jobs, requests, now: Date.now })
    const call = { ...callOf({ caller: { kind: 'cli' } }), signal: caller.signal }
    const result = cancel({ messageId: 'm1', drop: false }, call)
    await until(async () => (await requested()).length === 1, 'the request')
    caller.abort()
    await Promise.race([result, until(() => readsAfterDisconnect > 1, 'further reads of the outcome')])
    assert.deepEqual(await requested(), ['m1'])
    outcome = 'dead'
    assert.deepEqual(await result, { ok: true, messageId: 'm1', cancelled: true, outcome: 'dead' })
    assert.deepEqual(await requested(), [])
  })

  test('gives up a message whose attempt fails by itself before it is aborted', async (t) => {
    const { pauses, jobs, requested } = await openPauses(t)
    const reads: Outcome[] = ['running', 'retrying']
    const journal = {
      get: async () => MESSAGE,
      history: async () => [],
      outcomes: async (): Promise<Outcome[]> => {
        const isGivenUp = pauses.view.cancelOf('m1')?.isGivenUp === true
        return [reads.shift() ?? (isGivenUp ? 'dead' : 'retrying')]
      },
    }
    const cancel = createRunCancel({ pauses, journal, jobs, requests, now: Date.now })
    const result = await cancel({ messageId: 'm1', drop: false }, callOf({ caller: { kind: 'cli' } }))
    assert.deepEqual(result, { ok: true, messageId: 'm1', cancelled: true, outcome: 'dead' })
    assert.deepEqual(await requested(), [])
  })
})
