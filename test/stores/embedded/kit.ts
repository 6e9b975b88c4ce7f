import type { Store } from '../../../src/core/store.ts'
import { createEmbeddedStore } from '../../../src/stores/embedded/index.ts'
import { silent, toEvent } from '../../contract/store/kit.ts'

export { temporaryDir } from '../../fixtures/folder.ts'

/** Stands for the flush of the log where durability is not the matter of a test. */
export const noFlush = async () => {}

export function openStore(dir: string, now: () => number = Date.now): Promise<Store> {
  return createEmbeddedStore({ dir, toEvent, log: silent, now })
}

/** Runs a body with an open store, and closes it. */
export async function withStore(dir: string, body: (store: Store) => Promise<void>): Promise<void> {
  const store = await openStore(dir)
  try {
    await body(store)
  } finally {
    await store.close()
  }
}
