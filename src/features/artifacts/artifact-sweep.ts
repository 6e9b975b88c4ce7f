import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { allKeys } from '../../core/all-keys.ts'
import { readParts } from '../../core/erasing.ts'
import type { Log } from '../../core/log.ts'
import type { Store } from '../../core/store.ts'
import { DAY } from '../../core/units.ts'
import type { ArtifactStore } from './artifacts.ts'

/**
 * Files that were saved up to this long (ms) before the oldest message stay, because files are
 * saved before their message is accepted.
 */
const MARGIN_MS = DAY
const HASH = /\b[0-9a-f]{64}\b/g
/**
 * Files of the data directory that may refer to artifacts: documents, values, sessions. Logs do not
 * count.
 */
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
    // Twice, as a job can become a dead letter and be retried meanwhile, or continue after an approval.
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
    // One at a time, as they may be large.
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
