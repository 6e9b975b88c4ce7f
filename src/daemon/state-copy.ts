import { existsSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import type { Log } from '../core/log.ts'
import { writeWhole } from '../lib/disk.ts'
import { type AssistantState, assistantDocument } from '../state/assistant-state.ts'
import { formatDocument } from '../state/document.ts'
import { eventArchives } from '../state/event-archives.ts'
import type { StateDocument } from '../state/manager.ts'

/**
 * Keeps `state.json` a copy of the state on Redis: to read, to back up, and to begin with where Redis is given up. A
 * state that was in the data dir before is put aside first. Returns what ends it.
 */
export function keepStateCopy(deps: {
  state: Pick<StateDocument<AssistantState>, 'watch'>
  dataDir: string
  log: Log
  now(): number
}): () => Promise<void> {
  const { state, dataDir, log } = deps
  const path = join(dataDir, `${assistantDocument.name}.json`)
  let writing = Promise.resolve()
  let latest: AssistantState | undefined

  const write = async () => {
    // Several changes at once are one write, of the last of them.
    if (!latest) return
    const text = formatDocument(latest)
    latest = undefined
    try {
      await writeWhole(path, text)
    } catch (err) {
      log.warn({ err, path }, 'the copy of the state could not be written; the state itself is on Redis')
    }
  }

  putAside(dataDir, new Date(deps.now()).toISOString().replaceAll(/[-:.]/g, ''))
  const stop = state.watch(({ document }) => {
    latest = document
    writing = writing.then(write)
  })
  return async () => {
    stop()
    await writing
  }
}

/** The event log tells that the files are a state of their own, not a copy. */
function putAside(dataDir: string, label: string): void {
  const { name } = assistantDocument
  if (!existsSync(join(dataDir, `${name}.events.jsonl`))) return
  for (const [file, kept] of [
    [`${name}.json`, `${name}.${label}.backup.json`],
    [`${name}.events.jsonl`, `${name}.${label}.backup.events.jsonl`],
  ] as const) {
    if (existsSync(join(dataDir, file))) renameSync(join(dataDir, file), join(dataDir, kept))
  }
  for (const archive of eventArchives(dataDir, name)) renameSync(archive, `${archive}.${label}.backup`)
}
