import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Log } from '../../core/log.ts'
import type { Store } from '../../core/store.ts'
import type { ArtifactStore } from './artifacts.ts'

/** A message is accepted soon after its parts were saved; this is far longer. */
const MARGIN = 86_400_000
const HASH = /\b[0-9a-f]{64}\b/g
/** Documents, values and sessions; logs tell what was, and keep nothing. */
const NAMING = '{*.json,state/**/*.json,sessions/**/*.json}'

/**
 * Removes artifacts that nothing names any more. What was saved since a day before the oldest retained message may be named by a
 * message; of the rest stays what a dead letter, a value on the store or a file of the state names, in any place.
 */
export function createArtifactSweep(deps: {
  artifacts: ArtifactStore
  store: Store
  dataDir: string
  workbenchDir: string
  log: Log
  now(): number
}): () => Promise<void> {
  const { artifacts, store, log, now } = deps

  return async () => {
    const { journal } = await store.stats()
    const before = Math.min(journal.oldestAt ?? now(), now()) - MARGIN
    const swept = await artifacts.sweep(before, await everythingNamed())
    if (swept.removed > 0) log.info(swept, 'artifacts that nothing names were removed')
  }

  async function everythingNamed(): Promise<Set<string>> {
    const found = new Set<string>()
    const take = (text: string) => {
      for (const [sha256] of text.matchAll(HASH)) found.add(sha256)
    }
    // One at a time: together they may be large.
    for (const id of await store.jobs.deadLetters.ids())
      take(JSON.stringify((await store.jobs.deadLetters.get(id)) ?? null))
    for (const key of await store.kv.list('', Number.MAX_SAFE_INTEGER))
      take(JSON.stringify((await store.kv.get(key))?.value ?? null))
    for (const [folder, pattern] of [
      [deps.dataDir, NAMING],
      [deps.workbenchDir, '**/*.json'],
    ] as const) {
      for await (const file of glob(pattern, { cwd: folder }))
        take(await readFile(join(folder, file), 'utf8'))
    }
    return found
  }
}
