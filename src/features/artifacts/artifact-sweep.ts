import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Log } from '../../core/log.ts'
import type { Store } from '../../core/store.ts'
import type { ArtifactStore } from './artifacts.ts'

/** Much longer than the time between saving files and accepting their message. */
const MARGIN = 86_400_000
const HASH = /\b[0-9a-f]{64}\b/g
/** Documents, values and sessions that may refer to artifacts. References in logs do not count. */
const NAMING = '{*.json,state/**/*.json,sessions/**/*.json}'

/**
 * Removes unreferenced artifacts. Those saved since a day before the oldest retained message may belong to a message and stay; others
 * stay if a dead letter, a stored value or a state file refers to them.
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
    if (swept.removed > 0) log.info(swept, 'unreferenced artifacts were removed')
  }

  async function everythingNamed(): Promise<Set<string>> {
    const found = new Set<string>()
    const take = (text: string) => {
      for (const [sha256] of text.matchAll(HASH)) found.add(sha256)
    }
    // One at a time, as they may be large.
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
