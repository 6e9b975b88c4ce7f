import { existsSync, readdirSync, readFileSync, renameSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileFailure, unwritable } from '../../core/errors.ts'
import { MIB } from '../../core/units.ts'
import { type Disk, disk, syncDir, writeAtomically } from '../../lib/disk.ts'
import { createFileLock, type FileLock } from '../../lib/file-lock.ts'
import { appendLines, rotate, rotatedFiles } from '../../lib/line-file.ts'
import { type LoggedChange, lastChange, readChanges } from './events.ts'
import type { Commit, DocumentBackend, Stored } from './spec.ts'
import { fingerprint, formatDocument, isLink, parseDocument } from './text.ts'

/**
 * The files of a document. `file`: status of the document's file. `logSize`: bytes of the event
 * log.
 */
type Files = { stored: Stored; text: string; file: Stats | undefined; logSize: number }

const MAX_LOG_SIZE = 32 * MIB
/**
 * A log is not rotated before it is this many times larger than the document: each log starts with
 * the complete document, which should be a small part of the log.
 */
const DOCUMENTS_PER_LOG = 8

/**
 * Documents as `<dir>/<name>.json` with their events in `<dir>/<name>.events.jsonl`. A commit
 * writes the new text to a temporary file, appends its event, and renames the file. After a crash
 * between the last two steps the text is adopted like an edit.
 */
export function createFileBackend(options: {
  dir: string
  disk?: Disk
  /** Size in bytes at which an event log is closed and a new one started. */
  maxLogSize?: number
}): DocumentBackend {
  const { dir, maxLogSize = MAX_LOG_SIZE, disk: target = disk } = options
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
    // Reads without the lock, possibly in the middle of a commit. `transact` reads again under it.
    read: async (name) => (await readFiles(dir, name)).stored,
    transact: (name, work) =>
      locked(name, async () => {
        for (;;) {
          const files = await readFiles(dir, name)
          const commit = work(files.stored)
          if (!commit || (await write({ dir, target, maxLogSize }, name, files, commit))) return
        }
      }),
    changes: (name) => readChanges(name, eventsFile(dir, name)),
    async backUp(name, label) {
      if (!existsSync(documentOf(name))) return undefined
      const backup = join(dir, `${name}.${label}.backup.json`)
      await writeAtomically(backup, readFileSync(documentOf(name)), target)
      return backup
    },
    forgetHistory: (name) => locked(name, async () => forget(target, dir, name, await readFiles(dir, name))),
    *setAside(name) {
      for (const file of copiesOf(dir, name)) {
        const text = readFileSync(file, 'utf8')
        if (file.endsWith('.json')) yield text
        else yield* text.split('\n')
      }
    },
    setEventsAside: (name, label) =>
      locked(name, async () => {
        const events = eventsFile(dir, name)
        const files = [events, ...rotatedFiles(events)].filter((file) => existsSync(file))
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

async function readFiles(dir: string, name: string): Promise<Files> {
  const path = documentFile(dir, name)
  const log = eventsFile(dir, name)
  const file = statOf(path)
  const text = file && readFileSync(path, 'utf8')
  const last = await lastChange(name, log)
  const logSize = statOf(log)?.size ?? 0
  return { stored: storedOf(text, file, last, isLink(path)), text: text ?? '', file, logSize }
}

/**
 * Writes a commit. Resolves with false if a person saved the file meanwhile: their text stays, and
 * `work` must run again.
 */
async function write(
  { dir, target, maxLogSize }: { dir: string; target: Disk; maxLogSize: number },
  name: string,
  files: Files,
  { change, document, keepText }: Commit,
): Promise<boolean> {
  const path = documentFile(dir, name)
  const log = eventsFile(dir, name)
  const text = keepText ? files.text : formatDocument(document)
  /** Appends the event. Returns whether the document is still the file that was read. */
  const appendEvent = async () => {
    const isFull = files.logSize >= Math.max(maxLogSize, DOCUMENTS_PER_LOG * (files.file?.size ?? 0))
    if (isFull) await rotate(log, target)
    // A log starts with the complete document.
    const content = isFull || files.logSize === 0 ? { ...change, document } : change
    await appendLines(log, [JSON.stringify({ ...content, sha: fingerprint(text) })], target)
    const before = files.file
    const now = statOf(path)
    // Editors that write a new file and rename it change the inode.
    return before?.ino === now?.ino && before?.mtimeMs === now?.mtimeMs && before?.size === now?.size
  }
  try {
    if (!keepText)
      return await writeAtomically(path, text, target, { mode: files.file?.mode, onlyIf: appendEvent })
    await appendEvent()
    return true
  } catch (error) {
    throw unwritable(path, error)
  }
}

/** Restarts the events with the current document, and removes copies of earlier versions. */
async function forget(target: Disk, dir: string, name: string, { stored }: Files): Promise<void> {
  const events = eventsFile(dir, name)
  const last = await lastChange(name, events)
  if (last && 'document' in stored) {
    const { patch: _, ...change } = last
    await writeAtomically(events, `${JSON.stringify({ ...change, document: stored.document })}\n`, target)
  }
  for (const file of [...rotatedFiles(events), ...copiesOf(dir, name)]) target.remove(file)
  await syncDir(dir, target)
}

/** The backups of a document, and event logs that a repair set aside. */
function copiesOf(dir: string, name: string): string[] {
  if (!existsSync(dir)) return []
  return readdirSync(dir)
    .filter(
      (file) =>
        file.startsWith(`${name}.`) && (file.endsWith('.backup.json') || /\.jsonl\.[\w-]+$/.test(file)),
    )
    .map((file) => join(dir, file))
}

function storedOf(
  text: string | undefined,
  file: Stats | undefined,
  last: LoggedChange | undefined,
  isLinked: boolean,
): Stored {
  const revision = last?.seq ?? 0
  if (text === undefined) return { revision, missing: true }
  if (last?.sha !== fingerprint(text))
    return { revision, edited: { text, at: file?.mtimeMs ?? 0, isLink: isLinked } }
  // A document that was adopted from a person may contain more than their text.
  return { revision, document: last.document ?? parseDocument(text) }
}

function statOf(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false })
}
