import { existsSync, readFileSync, renameSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileFailure } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { type Disk, disk, syncDir, writeWhole } from '../../lib/disk.ts'
import { createFileLock, type FileLock } from '../../lib/file-lock.ts'
import { appendLines, fullFiles, rotate, takeBack, unwritable } from '../files/line-file.ts'
import { type Commit, type DocumentBackend, type Stored, withWhole } from './backend.ts'
import { type LoggedChange, lastChange, readChanges } from './event-log.ts'
import { fingerprint, formatDocument, parseDocument } from './spec.ts'

type Files = {
  name: string
  document: string
  events: string
  lock: FileLock
  /** What was there when we last looked; files that are the same have the same content. */
  seen?: Seen
  /** What this process wrote last, so that it is not parsed again. */
  written?: { sha: string; document: JsonObject }
}

type Seen = { marks: Marks; text: string; stored: Stored }

/** What the file system says of both files; undefined where there is none. */
type Marks = { document: Stats | undefined; events: Stats | undefined }

const FULL_LOG = 32 * 1024 * 1024
/** Each log begins with a whole document, which should be a small part of it. */
const DOCUMENTS_A_LOG = 8

/**
 * Documents as `<dir>/<name>.json` with their events in `<dir>/<name>.events.jsonl`. The document is the truth: a
 * commit appends its events, then puts the new text in place. After a crash between the two the text is not what the
 * last event left, and is taken over like an edit.
 */
export function createFileBackend(options: {
  dir: string
  disk?: Disk
  /** Bytes from which an event log is put away and a new one begun. */
  fullLog?: number
}): DocumentBackend {
  const { dir, fullLog = FULL_LOG } = options
  const target = options.disk ?? disk
  const open = new Map<string, Files>()
  const eventsOf = (name: string) => join(dir, `${name}.events.jsonl`)

  const filesOf = (name: string): Files => {
    const known = open.get(name)
    if (known) return known
    try {
      target.makeDir(dir)
    } catch (error) {
      throw unwritable(dir, error)
    }
    const path = join(dir, `${name}.lock`)
    const lock = createFileLock(path, fileFailure(path))
    const files: Files = { name, document: join(dir, `${name}.json`), events: eventsOf(name), lock }
    open.set(name, files)
    return files
  }

  const locked = async <T>(name: string, work: (files: Files) => Promise<T>): Promise<T> => {
    const files = filesOf(name)
    const release = await files.lock.acquire()
    try {
      return await work(files)
    } finally {
      release()
    }
  }

  return {
    locate: (name) => join(dir, `${name}.json`),
    // Without the lock: what was read in the middle of a commit is looked at again before anybody acts on it.
    read: async (name) => (await look(filesOf(name))).stored,
    transact: (name, work) =>
      locked(name, async (files) => {
        for (;;) {
          const seen = await look(files)
          const commit = work(seen.stored)
          if (!commit || (await write(files, seen, commit))) return
        }
      }),
    changes: (name, after) => readChanges(eventsOf(name), name, after),
    async keep(name, label) {
      const { document } = filesOf(name)
      if (!existsSync(document)) return undefined
      const kept = join(dir, `${name}.${label}.backup.json`)
      await writeWhole(kept, readFileSync(document), target)
      return kept
    },
    putEventsAside: (name, label) =>
      locked(name, async ({ events }) => {
        for (const file of [events, ...fullFiles(events)]) {
          if (existsSync(file)) renameSync(file, `${file}.${label}`)
        }
        await syncDir(dir, target)
        return `${events}.${label}`
      }),
    async close() {
      for (const { lock } of open.values()) lock.close()
      open.clear()
    },
  }

  /** False: a person saved the file in between; nothing was written and `work` must look again. */
  async function write(files: Files, seen: Seen, commit: Commit): Promise<boolean> {
    const { document, events } = seen.marks
    const text = commit.keepText ? seen.text : formatDocument(commit.document)
    const sha = fingerprint(text)
    let begin: number | undefined
    let isDone = false
    delete files.seen
    try {
      const isFull = (events?.size ?? 0) >= Math.max(fullLog, DOCUMENTS_A_LOG * (document?.size ?? 0))
      if (isFull) await rotate(files.events, { target })
      const isFirst = isFull || !events?.size
      begin = await appendLines(files.events, encode(commit, sha, isFirst), target)
      const isStill = () => isSame(markOf(files.document), document)
      isDone =
        commit.keepText ||
        (await writeWhole(files.document, text, target, { mode: document?.mode, onlyIf: isStill }))
      if (isDone) files.written = { sha, document: commit.document }
      return isDone
    } catch (error) {
      throw unwritable(files.document, error)
    } finally {
      if (!isDone && begin !== undefined) await takeBack(files.events, begin, target)
    }
  }
}

/** Reads what is there, unless nothing changed since the last time. */
async function look(files: Files): Promise<Seen> {
  const marks = marksOf(files)
  if (files.seen && isUnchanged(files.seen.marks, marks)) {
    // The mode may be another: it is no content.
    files.seen.marks = marks
    return files.seen
  }
  const text = marks.document ? readFileSync(files.document, 'utf8') : undefined
  const last = await lastChange(files.events, files.name)
  files.seen = { marks, text: text ?? '', stored: storedOf(files, text, marks, last) }
  return files.seen
}

function storedOf(
  { written }: Files,
  text: string | undefined,
  marks: Marks,
  last: LoggedChange | undefined,
): Stored {
  const revision = last?.seq ?? 0
  if (text === undefined) return { revision, missing: true }
  const sha = fingerprint(text)
  if (last?.sha !== sha) return { revision, edited: { text, at: marks.document?.mtimeMs ?? 0 } }
  if (written?.sha === sha) return { revision, document: written.document }
  // What was taken over from a person may say more than their text does.
  return { revision, document: last.document ?? parseDocument(text) }
}

function encode(commit: Commit, sha: string, isFirst: boolean): string[] {
  const changes = isFirst ? withWhole(commit) : commit.changes
  return changes.map((change, index) =>
    JSON.stringify(index === changes.length - 1 ? { ...change, sha } : change),
  )
}

function marksOf({ document, events }: Files): Marks {
  return { document: markOf(document), events: markOf(events) }
}

function markOf(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false })
}

function isUnchanged(before: Marks, after: Marks): boolean {
  return isSame(before.document, after.document) && isSame(before.events, after.events)
}

/** A rename brings another inode, an append another size. */
function isSame(before: Stats | undefined, after: Stats | undefined): boolean {
  return before?.ino === after?.ino && before?.mtimeMs === after?.mtimeMs && before?.size === after?.size
}
