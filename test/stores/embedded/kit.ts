import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Store } from '../../../src/core/store.ts'
import { createEmbeddedStore } from '../../../src/stores/embedded/index.ts'
import { quiet, toEvent } from '../../contract/store/kit.ts'

/** A directory that is removed after the test. */
export async function tempDir(t: TestContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'trivium-embedded-'))
  t.after(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }))
  return dir
}

/** Stands for the flush of the log where durability is not the matter of a test. */
export const noFlush = async () => {}

export function openStore(dir: string, now: () => number = Date.now): Promise<Store> {
  return createEmbeddedStore({ dir, toEvent, log: quiet, now })
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
