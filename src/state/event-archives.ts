import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Disk, syncDir, writeWhole } from '../lib/disk.ts'
import type { LoggedChange } from './change-log.ts'
import type { DocumentFiles } from './document-files.ts'

/** Full event logs of a document, oldest first: `<dir>/<name>.events.<time of the last event>.jsonl`. */
export function eventArchives(dir: string, name: string): string[] {
  const isArchive = (file: string) =>
    file.startsWith(`${name}.events.`) &&
    /^\d{8}T\d{9}Z-\d+\.jsonl$/.test(file.slice(`${name}.events.`.length))
  try {
    const files = readdirSync(dir).filter(isArchive)
    return files.sort((a, b) => revisionOf(a) - revisionOf(b)).map((file) => join(dir, file))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}

/**
 * Puts a full log away and begins a new one with `first`, which holds the whole document. The old log gets a second
 * name before the new one takes its place, so that there is a log at every moment; the archive is named for its last
 * event, so that a rotation that a crash cut off finds its own. Only for files whose text is up to date. The newest
 * `keep` archives stay.
 */
export async function archiveEvents(
  target: Disk,
  dir: string,
  files: DocumentFiles,
  first: LoggedChange,
  keep: number,
): Promise<void> {
  // The events that could bring back a lost rename leave the log that is looked at.
  await syncDir(dir, target)
  const stamp = first.time.replaceAll(/[-:.]/g, '')
  const archive = join(dir, `${files.name}.events.${stamp}-${first.seq}.jsonl`)
  if (!eventArchives(dir, files.name).includes(archive)) target.link(files.events, archive)
  await writeWhole(files.events, `${JSON.stringify(first)}\n`, target)
  for (const old of eventArchives(dir, files.name).slice(0, -keep)) target.remove(old)
}

function revisionOf(file: string): number {
  return Number(/-(\d+)\.jsonl$/.exec(file)?.[1])
}
