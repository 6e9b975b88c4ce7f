import { existsSync, readdirSync, readFileSync, renameSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileFailure, unwritable } from '../../core/errors.ts'
import { type Disk, disk, syncDir, writeWhole } from '../../lib/disk.ts'
import { createFileLock, type FileLock } from '../../lib/file-lock.ts'
import { appendLines, fullFiles, rotate } from '../../lib/line-file.ts'
import { type LoggedChange, lastChange, readChanges } from './events.ts'
import {
  type Commit,
  type DocumentBackend,
  fingerprint,
  formatDocument,
  isLink,
  parseDocument,
  type Stored,
} from './spec.ts'

/** What was found on disk. `document` and `size`: file status of the document, and size of its events. */
type Seen = { stored: Stored; text: string; document: Stats | undefined; size: number }

const FULL_LOG = 32 * 1024 * 1024
/** Each log starts with a complete document, which should be a small part of it. */
const DOCUMENTS_A_LOG = 8

/**
 * Documents as `<dir>/<name>.json` with their events in `<dir>/<name>.events.jsonl`. A commit writes the new
 * text to a temporary file, appends its event, and renames the file. After a crash between the last two steps
 * the text is adopted like an edit.
 */
export function createFileBackend(options: {
  dir: string
  disk?: Disk
  /** Size in bytes at which an event log is closed and a new one started. */
  fullLog?: number
}): DocumentBackend {
  const { dir, fullLog = FULL_LOG, disk: target = disk } = options
  const locks = new Map<string, FileLock>()
  const documentOf = (name: string) => documentFile(dir, name)

  const locked = <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const path = join(dir, `${name}.lock`)
    const lock = locks.get(name) ?? createFileLock(path, fileFailure(path))
    locks.set(name, lock)
    return lock.during(work)
  }

  return {
    locate: documentOf,
    // Without the lock. `transact` checks again under it, as this read may have been in the middle
    // of a commit.
    read: async (name) => (await look(dir, name)).stored,
    transact: (name, work) =>
      locked(name, async () => {
        for (;;) {
          const seen = await look(dir, name)
          const commit = work(seen.stored)
          if (!commit || (await write({ dir, target, fullLog }, name, seen, commit))) return
        }
      }),
    changes: (name) => readChanges(name, eventsFile(dir, name)),
    async keep(name, label) {
      if (!existsSync(documentOf(name))) return undefined
      const kept = join(dir, `${name}.${label}.backup.json`)
      await writeWhole(kept, readFileSync(documentOf(name)), target)
      return kept
    },
    forgetHistory: (name) => locked(name, async () => forget(target, dir, name, await look(dir, name))),
    putEventsAside: (name, label) =>
      locked(name, async () => {
        const events = eventsFile(dir, name)
        const files = [events, ...fullFiles(events)].filter((file) => existsSync(file))
        for (const file of files) renameSync(file, `${file}.${label}`)
        await syncDir(dir, target)
        return `${events}.${label}`
      }),
    async close() {
      for (const lock of locks.values()) lock.close()
      locks.clear()
    },
  }
}

function documentFile(dir: string, name: string): string {
  return join(dir, `${name}.json`)
}

function eventsFile(dir: string, name: string): string {
  return join(dir, `${name}.events.jsonl`)
}

async function look(dir: string, name: string): Promise<Seen> {
  const [path, events] = [documentFile(dir, name), eventsFile(dir, name)]
  const document = statOf(path)
  const text = document && readFileSync(path, 'utf8')
  const last = await lastChange(name, events)
  const size = statOf(events)?.size ?? 0
  return { stored: storedOf(text, document, last, isLink(path)), text: text ?? '', document, size }
}

/** Returns false if a person saved the file meanwhile: their text stays, and `work` must run again. */
async function write(
  { dir, target, fullLog }: { dir: string; target: Disk; fullLog: number },
  name: string,
  seen: Seen,
  { change, document, keepText }: Commit,
): Promise<boolean> {
  const [path, events] = [documentFile(dir, name), eventsFile(dir, name)]
  const text = keepText ? seen.text : formatDocument(document)
  const note = async () => {
    const isFull = seen.size >= Math.max(fullLog, DOCUMENTS_A_LOG * (seen.document?.size ?? 0))
    if (isFull) await rotate(events, target)
    // A log starts with the complete document.
    const content = isFull || seen.size === 0 ? { ...change, document } : change
    await appendLines(events, [JSON.stringify({ ...content, sha: fingerprint(text) })], target)
    const [before, now] = [seen.document, statOf(path)]
    // A rename changes the inode.
    return before?.ino === now?.ino && before?.mtimeMs === now?.mtimeMs && before?.size === now?.size
  }
  try {
    if (!keepText) return await writeWhole(path, text, target, { mode: seen.document?.mode, onlyIf: note })
    await note()
    return true
  } catch (error) {
    throw unwritable(path, error)
  }
}

/** Restarts the events with the current document, and removes copies of earlier versions. */
async function forget(target: Disk, dir: string, name: string, { stored }: Seen): Promise<void> {
  const events = eventsFile(dir, name)
  const last = await lastChange(name, events)
  if (!last || !('document' in stored)) return
  const { patch: _, ...change } = last
  await writeWhole(events, `${JSON.stringify({ ...change, document: stored.document })}\n`, target)
  const isCopy = (file: string) => file.startsWith(`${name}.`) && file.endsWith('.backup.json')
  const copies = readdirSync(dir)
    .filter(isCopy)
    .map((copy) => join(dir, copy))
  for (const file of [...fullFiles(events), ...copies]) target.remove(file)
  await syncDir(dir, target)
}

function storedOf(
  text: string | undefined,
  file: Stats | undefined,
  last: LoggedChange | undefined,
  linked: boolean,
): Stored {
  const revision = last?.seq ?? 0
  if (text === undefined) return { revision, missing: true }
  if (last?.sha !== fingerprint(text))
    return { revision, edited: { text, at: file?.mtimeMs ?? 0, isLink: linked } }
  // A document that was adopted from a person may contain more than their text.
  return { revision, document: last.document ?? parseDocument(text) }
}

function statOf(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false })
}
