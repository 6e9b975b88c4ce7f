import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createDeadLetterWork, type LetterKey } from '../../src/engine/dead-letter-work.ts'
import type { LongWork, WorkKind } from '../../src/engine/long-work.ts'

describe('bulk work on dead letters', () => {
  test('saves its progress often, without searching for the remaining letters each time', async () => {
    const letters: LetterKey[] = Array.from({ length: 1_200 }, (_, at) => {
      return { id: String(at), queue: 'dispatch', messageId: undefined }
    })
    let searches = 0
    const actions = {
      oldest: async (_filter: object, limit: number) => {
        searches++
        return { found: letters.slice(0, limit), total: letters.length }
      },
      act: async (_verb: string, found: readonly LetterKey[]) => letters.splice(0, found.length),
      withdraw: () => Promise.reject(new Error('nothing is cancelled')),
      retried: () => Promise.reject(new Error('these are dropped')),
    }
    let kind: WorkKind | undefined
    const work: Pick<LongWork, 'offer' | 'begin'> = {
      offer: (offered) => {
        kind = offered
      },
      begin: () => Promise.reject(new Error('not called')),
    }
    createDeadLetterWork(actions, work, Date.now)
    const data = { verb: 'drop', filter: { until: 1 }, count: 0 }
    const saved: (number | undefined)[] = []
    const tools = {
      signal: new AbortController().signal,
      save: async ({ done }: { done?: number }) => void saved.push(done),
    }
    const result = await kind?.run({ id: 'job', by: 'anna', data, target: {}, done: 0, total: 1_200 }, tools)
    assert.deepEqual(result, { count: 1_200 })
    assert.deepEqual(saved, [500, 1_000, 1_200])
    assert.equal(searches, 2)
  })
})
