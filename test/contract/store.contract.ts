import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { erasedEventsContract } from './store/erased-events.ts'
import { erasedUsageContract } from './store/erased-usage.ts'
import { erasingContract } from './store/erasing.ts'
import { groupModel } from './store/group-model.ts'
import { jobsContract } from './store/jobs.ts'
import { journalContract } from './store/journal.ts'
import type { StoreFactory, StoreFixture } from './store/kit.ts'
import { keyValueContract } from './store/kv.ts'
import { laneModel } from './store/lane-model.ts'
import { pagesContract } from './store/pages.ts'
import { receiveContract } from './store/receive.ts'
import { receiveModel } from './store/receive-model.ts'
import { retentionContract } from './store/retention.ts'
import { searchContract } from './store/search.ts'
import { topicsContract } from './store/topics.ts'

export type { StoreFixture, StoreOptions } from './store/kit.ts'

/**
 * Registers the cases that every store must pass, one per sentence of `src/core/store.ts`. `create`
 * is called once per case and returns a fixture without data. `leftOut`: names of cases that are
 * not run, because they do not hold for this store.
 */
export function storeContract(
  name: string,
  create: () => Promise<StoreFixture>,
  leftOut: readonly string[] = [],
): void {
  const unknown = new Set(leftOut)
  const factory: StoreFactory = {
    create,
    leavesOut(title) {
      unknown.delete(title)
      return leftOut.includes(title)
    },
  }
  describe(`${name} store`, () => {
    journalContract(factory)
    receiveContract(factory)
    receiveModel(factory)
    topicsContract(factory)
    jobsContract(factory)
    searchContract(factory)
    keyValueContract(factory)
    erasingContract(factory)
    erasedUsageContract(factory)
    erasedEventsContract(factory)
    retentionContract(factory)
    groupModel(factory)
    laneModel(factory)
    pagesContract(factory)
    test('leaves out only cases that exist', () => assert.deepEqual([...unknown], []))
  })
}
