import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { allKeys } from '../../core/all-keys.ts'
import { readParts } from '../../core/erasing.ts'
import type { Log } from '../../core/log.ts'
import type { Store } from '../../core/store.ts'
import { DAY } from '../../core/units.ts'
import type { ArtifactStore } from './artifacts.ts'

/** Files saved up to this long (ms) before the oldest message stay: they are saved before it. */
const MARGIN_MS = DAY
const HASH = /\b[0-9a-f]{64}\b/g
/** Files of the data directory whose references keep artifacts. Logs are not among them. */
const REFERRING_FILES = '{*.json,state/**/*.json,sessions/**/*.json}'

/**
 * Removes unreferenced artifacts. Those saved since a day before the oldest retained message stay,
 * because they may belong to a message. Others stay if an unfinished job, a dead letter, a stored
 * value or a state file refers to them.
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
    const before = Math.min(journal.oldestAt ?? now(), now()) - MARGIN_MS
    const referenced = new Set<string>()
    // Twice, because a job may move while the places are read: it becomes a dead letter, is
    // retried, or continues after an approval.
    await addReferences(referenced)
    await addReferences(referenced)
    const swept = await artifacts.sweep(before, referenced)
    if (swept.removed > 0) log.info(swept, 'unreferenced artifacts were removed')
  }

  async function addReferences(found: Set<string>): Promise<void> {
    const addHashesIn = (text: string) => {
      for (const [sha256] of text.matchAll(HASH)) found.add(sha256)
    }
    for await (const jobs of readParts((after) => store.erasing.jobs(after, 'unfinished')))
      for (const { content } of jobs) addHashesIn(JSON.stringify(content))
    // Dead letters may be large, so they are read one at a time.
    for (const id of await store.jobs.deadLetters.ids())
      addHashesIn(JSON.stringify((await store.jobs.deadLetters.get(id)) ?? null))
    for (const key of await allKeys(store.kv, ''))
      addHashesIn(JSON.stringify((await store.kv.get(key))?.value ?? null))
    for (const [folder, pattern] of [
      [deps.dataDir, REFERRING_FILES],
      [deps.workbenchDir, '**/*.json'],
    ] as const) {
      for await (const file of glob(pattern, { cwd: folder }))
        addHashesIn(await readFile(join(folder, file), 'utf8'))
    }
  }
}
