import type { Store } from '../../../src/core/store.ts'
import { createEmbeddedStore } from '../../../src/stores/embedded/index.ts'
import { silent, toEvent } from '../../contract/store/kit.ts'

export { temporaryDir } from '../../fixtures/folder.ts'

/** Replaces the flush of the log in tests that are not about durability. */
export const noFlush = async () => {}

export function openStore(dir: string, now: () => number = Date.now): Promise<Store> {
  return createEmbeddedStore({ dir, toEvent, log: silent, now })
}

/** Runs `body` with a store, and closes the store. */
export async function withStore(dir: string, body: (store: Store) => Promise<void>): Promise<void> {
  const store = await openStore(dir)
  try {
    await body(store)
  } finally {
    await store.close()
  }
}
