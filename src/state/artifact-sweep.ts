import { createReadStream } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Log } from '../core/log.ts'
import type { Store } from '../core/store.ts'
import type { ArtifactStore } from './artifacts.ts'

/** A message is accepted soon after its parts were saved; this is far longer. */
const MARGIN = 86_400_000
const MOST_KEYS = 100_000
const MOST_DEAD = 10_000
const HASH = /\b[0-9a-f]{64}\b/g

type SweepDeps = {
  artifacts: Pick<ArtifactStore, 'sweep'>
  store: {
    stats: Store['stats']
    kv: Pick<Store['kv'], 'list' | 'get'>
    jobs: { deadLetters: Pick<Store['jobs']['deadLetters'], 'list'> }
  }
  dataDir: string
  /** Further folders whose documents may name artifacts: the workbench. */
  folders?: readonly string[]
  log: Log
  now(): number
}

/**
 * Makes the sweep that removes large things which nothing names any more. What was saved (or saved again) since a
 * day before the oldest retained message is kept, because a message may name it. Of the rest stays what an owner
 * holds, and what is named by a dead letter, by a value on the store, or by a file of the state: there a hash in any
 * place counts. Where not everything could be looked at, nothing is removed. Call it now and then; it costs
 * little while nothing is old.
 */
export function createArtifactSweep(deps: SweepDeps): () => Promise<void> {
  const { artifacts, store, log, now } = deps

  return async () => {
    const { journal } = await store.stats()
    const oldest = Math.min(journal.oldestAt ?? now(), now()) - MARGIN
    let named: Promise<Set<string> | undefined> | undefined
    const { removed, bytes } = await artifacts.sweep({
      grace: now() - oldest,
      async named(sha256) {
        named ??= everythingNamed()
        const found = await named
        return found === undefined || found.has(sha256)
      },
    })
    if (removed > 0) log.info({ removed, bytes }, 'artifacts that nothing names were removed')
  }

  /** Undefined: there is more than can be looked at. */
  async function everythingNamed(): Promise<Set<string> | undefined> {
    const found = new Set<string>()
    const take = (text: string) => {
      for (const [sha256] of text.matchAll(HASH)) found.add(sha256)
    }
    const letters = await store.jobs.deadLetters.list({ limit: MOST_DEAD })
    const keys = await store.kv.list('', MOST_KEYS)
    if (letters.length >= MOST_DEAD || keys.length >= MOST_KEYS) {
      log.warn(
        { keys: keys.length, deadLetters: letters.length },
        'artifacts are not swept: too much may name them',
      )
      return undefined
    }
    for (const letter of letters) take(JSON.stringify(letter))
    for (const key of keys) take(JSON.stringify((await store.kv.get(key))?.value ?? null))
    const state = ['state', 'sessions'].map((folder) => join(deps.dataDir, folder))
    for (const file of await documentsIn([deps.dataDir, ...state, ...(deps.folders ?? [])])) {
      for await (const line of createInterface({ input: createReadStream(file, 'utf8') })) take(line)
    }
    return found
  }
}

/** Documents and the calls that are kept with their results; logs tell what was, and keep nothing. */
async function documentsIn(folders: readonly string[]): Promise<string[]> {
  const found: string[] = []
  for (const folder of folders) {
    const isTop = folder === folders[0]
    const entries = await readdir(folder, { withFileTypes: true, recursive: !isTop }).catch(noFolder)
    for (const entry of entries) {
      const isKept = entry.name.endsWith('.json') || entry.name === 'pending_calls.jsonl'
      if (entry.isFile() && isKept) found.push(join(entry.parentPath, entry.name))
    }
  }
  return found
}

function noFolder(error: unknown): [] {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
  throw error
}
