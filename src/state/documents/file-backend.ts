import { existsSync, readFileSync, renameSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileFailure } from '../../core/errors.ts'
import { type Disk, disk, syncDir, writeWhole } from '../../lib/disk.ts'
import { createFileLock, type FileLock } from '../../lib/file-lock.ts'
import { appendLines, fullFiles, rotate, takeBack, unwritable } from '../files/line-file.ts'
import { type Commit, type DocumentBackend, type Stored, withWhole } from './backend.ts'
import { type LoggedChange, lastChange, readChanges } from './events.ts'
import { type Change, fingerprint, formatDocument, parseDocument } from './spec.ts'

/** What was found on the disk. `document` and `size`: what the file system says of the document, and the size of its events. */
type Seen = { stored: Stored; text: string; document: Stats | undefined; size: number }

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
  const locks = new Map<string, FileLock>()
  const documentOf = (name: string) => join(dir, `${name}.json`)
  const eventsOf = (name: string) => join(dir, `${name}.events.jsonl`)

  const lockOf = (name: string): FileLock => {
    const known = locks.get(name)
    if (known) return known
    try {
      target.makeDir(dir)
    } catch (error) {
      throw unwritable(dir, error)
    }
    const path = join(dir, `${name}.lock`)
    const lock = createFileLock(path, fileFailure(path))
    locks.set(name, lock)
    return lock
  }

  const locked = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const release = await lockOf(name).acquire()
    try {
      return await work()
    } finally {
      release()
    }
  }

  return {
    locate: documentOf,
    // Without the lock: what was read in the middle of a commit is looked at again before anybody acts on it.
    read: async (name) => (await look(name)).stored,
    transact: (name, work) =>
      locked(name, async () => {
        for (;;) {
          const seen = await look(name)
          const commit = work(seen.stored)
          if (!commit || (await write(name, seen, commit))) return
        }
      }),
    changes: (name, after) => readChanges(eventsOf(name), name, after),
    async keep(name, label) {
      if (!existsSync(documentOf(name))) return undefined
      const kept = join(dir, `${name}.${label}.backup.json`)
      await writeWhole(kept, readFileSync(documentOf(name)), target)
      return kept
    },
    putEventsAside: (name, label) =>
      locked(name, async () => {
        const events = eventsOf(name)
        for (const file of [events, ...fullFiles(events)]) {
          if (existsSync(file)) renameSync(file, `${file}.${label}`)
        }
        await syncDir(dir, target)
        return `${events}.${label}`
      }),
    async close() {
      for (const lock of locks.values()) lock.close()
      locks.clear()
    },
  }

  async function look(name: string): Promise<Seen> {
    const document = statOf(documentOf(name))
    const text = document && readFileSync(documentOf(name), 'utf8')
    const last = await lastChange(eventsOf(name), name)
    const size = statOf(eventsOf(name))?.size ?? 0
    return { stored: storedOf(text, document, last), text: text ?? '', document, size }
  }

  /** False: a person saved the file in between; nothing was written and `work` must look again. */
  async function write(
    name: string,
    { text: found, document, size }: Seen,
    commit: Commit,
  ): Promise<boolean> {
    const [path, events] = [documentOf(name), eventsOf(name)]
    const text = commit.keepText ? found : formatDocument(commit.document)
    let begin: number | undefined
    let isDone = false
    try {
      const isFull = size >= Math.max(fullLog, DOCUMENTS_A_LOG * (document?.size ?? 0))
      if (isFull) await rotate(events, { target })
      const changes = isFull || size === 0 ? withWhole(commit) : commit.changes
      begin = await appendLines(events, encode(changes, fingerprint(text)), target)
      const onlyIf = () => isSame(statOf(path), document)
      isDone = commit.keepText || (await writeWhole(path, text, target, { mode: document?.mode, onlyIf }))
      return isDone
    } catch (error) {
      throw unwritable(path, error)
    } finally {
      if (!isDone && begin !== undefined) await takeBack(events, begin, target)
    }
  }
}

function storedOf(text: string | undefined, file: Stats | undefined, last: LoggedChange | undefined): Stored {
  const revision = last?.seq ?? 0
  if (text === undefined) return { revision, missing: true }
  if (last?.sha !== fingerprint(text)) return { revision, edited: { text, at: file?.mtimeMs ?? 0 } }
  // What was taken over from a person may say more than their text does.
  return { revision, document: last.document ?? parseDocument(text) }
}

function encode(changes: readonly Change[], sha: string): string[] {
  const last = changes.length - 1
  return changes.map((change, index) => JSON.stringify(index === last ? { ...change, sha } : change))
}

function statOf(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false })
}

/** A rename brings another inode. */
function isSame(before: Stats | undefined, after: Stats | undefined): boolean {
  return before?.ino === after?.ino && before?.mtimeMs === after?.mtimeMs && before?.size === after?.size
}
