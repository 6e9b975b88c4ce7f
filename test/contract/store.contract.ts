import { describe } from 'node:test'
import { erasingContract } from './store/erasing.ts'
import { groupModel } from './store/group-model.ts'
import { jobsContract } from './store/jobs.ts'
import { journalContract } from './store/journal.ts'
import type { StoreFactory } from './store/kit.ts'
import { keyValueContract } from './store/kv.ts'
import { laneModel } from './store/lane-model.ts'
import { pagesContract } from './store/pages.ts'
import { receiveContract } from './store/receive.ts'
import { receiveModel } from './store/receive-model.ts'
import { retentionContract } from './store/retention.ts'
import { searchContract } from './store/search.ts'
import { topicsContract } from './store/topics.ts'

export type { StoreFactory, StoreFixture, StoreOptions } from './store/kit.ts'

/**
 * Registers what every store must do: one case for each sentence of `src/core/store.ts`. `factory` is
 * called once per case and must give a store with no data in it.
 */
export function storeContract(name: string, factory: StoreFactory): void {
  describe(`${name} store`, () => {
    journalContract(factory)
    receiveContract(factory)
    receiveModel(factory)
    topicsContract(factory)
    jobsContract(factory)
    searchContract(factory)
    keyValueContract(factory)
    erasingContract(factory)
    retentionContract(factory)
    groupModel(factory)
    laneModel(factory)
    pagesContract(factory)
  })
}
