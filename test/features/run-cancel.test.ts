import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { TriviumError } from '../../src/core/errors.ts'
import type { Outcome } from '../../src/core/message-query.ts'
import { createRunCancel } from '../../src/features/pauses/cancel.ts'
import { createPauses } from '../../src/features/pauses/pauses.ts'
import { createPauseRecords } from '../../src/features/pauses/records.ts'
import { callOf, newMessage } from '../engine/kit.ts'
import { openStore } from '../runtime/support/store.ts'
import { silent } from './kit.ts'

describe('the cancellation of a run', () => {
  test('is removed if the store becomes unavailable during the wait, so that no later attempt is cancelled', async (t) => {
    const store = await openStore(t)
    const queues = { dispatch: 'dispatch', schedules: 'schedules' }
    const pauses = createPauses({ store, queues, routes: () => [], log: silent, now: Date.now })
    const { load } = createPauseRecords(store.kv)
    const cancelsDuringWait: string[] = []
    let reads = 0
    const journal = {
      get: async () => ({
        ...newMessage(),
        id: 'm1',
        conversation: 'c1',
        receivedAt: 0,
        trace: 'a'.repeat(32),
        attachments: [],
      }),
      async outcomes(): Promise<Outcome[]> {
        reads++
        const isCheckBeforeTheWait = reads === 1
        if (isCheckBeforeTheWait) return ['running']
        cancelsDuringWait.push(...(await load()).cancels.map(({ messageId }) => messageId))
        throw new TriviumError('store_unavailable', { store: 'a shard', reason: 'the test says so' })
      },
    }
    const cancel = createRunCancel({ pauses, journal, now: Date.now })
    await assert.rejects(cancel({ messageId: 'm1' }, callOf({ caller: { kind: 'cli' } })), {
      code: 'store_unavailable',
    })
    assert.deepEqual(cancelsDuringWait, ['m1'])
    assert.deepEqual((await load()).cancels, [])
  })
})
