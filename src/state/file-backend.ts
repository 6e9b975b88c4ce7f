import { type FSWatcher, fstatSync, readFileSync, statSync, watch } from 'node:fs'
import { join } from 'node:path'
import { fileFailure, reasonOf, TriviumError } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { type Disk, disk, syncDir, temporaryName, writeWhole } from '../lib/disk.ts'
import { createFileLock } from '../lib/file-lock.ts'
import type { Commit, DocumentBackend } from './backend.ts'
import { type LoggedChange, type LogTail, MOST_UNSYNCED, readChanges, readTail } from './change-log.ts'
import { fingerprint, formatDocument } from './document.ts'
import {
  type DocumentFiles,
  isSame,
  isUnchanged,
  look,
  type Marks,
  markOf,
  marksOf,
  type Seen,
} from './document-files.ts'
import { archiveEvents, eventArchives } from './event-archives.ts'

const SYNC_DELAY = 10
const FULL_LOG = 32 * 1024 * 1024
const KEPT_LOGS = 20
/** A new log begins with the whole document, which should be a small part of it. */
const DOCUMENTS_A_LOG = 8
const POLL = 1000
/** What `Disk.open` gives a new file. */
const OWN_MODE = 0o600

/**
 * Documents as `<dir>/<name>.json` with their events in `<dir>/<name>.events.jsonl`. A commit appends and
 * syncs its events, and writes and syncs the new text beside the old, before it renames the text into place
 * and answers. Then events are never behind the text, and text that is behind is caught up from them.
 */
export function createFileBackend(options: {
  dir: string
  disk?: Disk
  log?: Log
  /** Bytes from which an event log is put away and a new one begun; default 32 MB, of which 20 stay. */
  fullLog?: number
}): DocumentBackend {
  const { dir, fullLog = FULL_LOG } = options
  const target = options.disk ?? disk
  const open = new Map<string, DocumentFiles>()

  const filesOf = (name: string): DocumentFiles => {
    const known = open.get(name)
    if (known) return known
    makeDir(target, dir)
    const files: DocumentFiles = {
      name,
      document: join(dir, `${name}.json`),
      events: join(dir, `${name}.events.jsonl`),
      lock: createFileLock(join(dir, `${name}.lock`), fileFailure(join(dir, `${name}.lock`))),
      unsynced: MOST_UNSYNCED,
    }
    open.set(name, files)
    return files
  }

  const locked = async <T>(name: string, work: (files: DocumentFiles) => Promise<T>): Promise<T> => {
    const files = filesOf(name)
    const release = await files.lock.acquire()
    try {
      return await work(files)
    } finally {
      release()
    }
  }

  return {
    kind: 'file',
    locate: (name) => join(dir, `${name}.json`),
    async read(name) {
      const files = filesOf(name)
      if (files.seen && isUnchanged(files.seen.marks, marksOf(files))) return files.seen.stored
      try {
        return await locked(name, async () => look(files).stored)
      } catch (error) {
        // Where nothing can be written, nobody writes: then reading needs no lock.
        if (error instanceof TriviumError && error.code === 'state_unwritable') return look(files).stored
        throw error
      }
    },
    async transact(name, work) {
      await locked(name, async (files) => {
        for (;;) {
          const seen = await rotateWhereDue(files)
          const commit = work(seen.stored)
          if (!commit) return
          if (await write(files, seen, commit)) return
        }
      })
    },
    changes: (name, after) =>
      readChanges([...eventArchives(dir, name), join(dir, `${name}.events.jsonl`)], name, after),
    async backup(name, label) {
      const path = join(dir, `${name}.${label}.backup.json`)
      await writeWhole(path, readFileSync(join(dir, `${name}.json`)), target)
      return path
    },
    setAside: (name, what, label) =>
      locked(name, async (files) => {
        const path = what === 'document' ? files.document : files.events
        // Their numbers must not meet those of the log that is begun now.
        const archives = what === 'document' ? [] : eventArchives(dir, name)
        for (const archive of archives) target.rename(archive, `${archive}.${label}`)
        if (statSync(path, { throwIfNoEntry: false }) === undefined) return undefined
        const kept = `${path}.${label}`
        closeLog(target, files)
        target.rename(path, kept)
        await syncDir(dir, target)
        return kept
      }),
    watch(name, listener) {
      makeDir(target, dir)
      return watchFiles([`${name}.json`, `${name}.events.jsonl`], listener)
    },
    async close() {
      for (const files of open.values()) {
        clearTimeout(files.syncTimer)
        if (files.seen) await syncLater(files)
        closeLog(target, files)
        files.lock.close()
      }
      open.clear()
    },
  }

  /** By the system's notices; where it gives none (its limit is reached), by a look every second. */
  function watchFiles(names: readonly string[], listener: () => void): () => void {
    let timer: NodeJS.Timeout | undefined
    const poll = (error: unknown) => {
      options.log?.warn(
        { dir, error: reasonOf(error) },
        'files are looked at every second instead of watched',
      )
      timer ??= setInterval(listener, POLL).unref()
    }
    let watcher: FSWatcher | undefined
    try {
      watcher = watch(dir, { persistent: false }, (_, file) => {
        if (file === null || names.includes(file)) listener()
      })
      watcher.on('error', poll)
    } catch (error) {
      poll(error)
    }
    return () => {
      watcher?.close()
      clearInterval(timer)
    }
  }

  /** A look, after which there is room in the log. */
  async function rotateWhereDue(files: DocumentFiles): Promise<Seen> {
    const seen = look(files)
    const { events, document } = seen.marks
    const isUpToDate = 'document' in seen.stored && seen.base === seen.stored.revision
    const most = Math.max(fullLog, DOCUMENTS_A_LOG * Number(document?.size ?? 0))
    if (!isUpToDate || Number(events?.size ?? 0) < most || !('document' in seen.stored)) return seen
    const { revision, document: whole } = seen.stored
    const { changes } = readTail(files.events, files.name, () => true)
    const last = changes.at(-1)
    if (!last) return seen
    await unwritable(files, async () => {
      setTornAside(files, seen.tail)
      const { time, sha } = last
      const first: LoggedChange = {
        seq: revision,
        time,
        event: 'snapshot',
        actor: 'system:trivium',
        document: whole,
      }
      await archiveEvents(
        target,
        dir,
        files,
        { ...first, base: revision, ...(sha === undefined ? {} : { sha }) },
        KEPT_LOGS,
      )
      closeLog(target, files)
    })
    return look(files)
  }

  /** False: a person saved the file in between; nothing was written and `work` must look again. */
  async function write(files: DocumentFiles, seen: Seen, commit: Commit): Promise<boolean> {
    return await unwritable(files, async () => {
      setTornAside(files, seen.tail)
      return commit.keepText ? await record(files, seen, commit) : await replace(files, seen, commit)
    })
  }

  /** What goes wrong in `work` leaves nothing remembered, and is told as `state_unwritable`. */
  async function unwritable<T>(files: DocumentFiles, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      delete files.seen
      if (error instanceof TriviumError) throw error
      throw new TriviumError(
        'state_unwritable',
        { path: files.document, reason: reasonOf(error) },
        { cause: error },
      )
    }
  }

  async function replace(files: DocumentFiles, seen: Seen, commit: Commit): Promise<boolean> {
    const text = Buffer.from(formatDocument(commit.document))
    const temporary = temporaryName(files.document)
    const log = openLog(target, files, seen)
    const isDue = files.unsynced >= MOST_UNSYNCED
    let isRenamed = false
    try {
      const lines = encode(commit, seen, fingerprint(text))
      const marks = await writeBoth(
        { path: temporary, text },
        { log, lines },
        seen.marks.document?.mode,
        isDue,
      )
      if (isDue) files.unsynced = 0
      if (!isSame(markOf(files.document), seen.marks.document)) return false
      target.rename(temporary, files.document)
      isRenamed = true
      remember(files, commit, marks, seen.tail.end + lines.length)
    } finally {
      if (!isRenamed) await undo(files, seen, temporary)
    }
    await settle(files, 'missing' in seen.stored)
    return true
  }

  /**
   * The new text and its events, both on the disk before the rename; their syncs share one journal commit. Keeps the
   * file's mode. Gives what both files are, before a person could save over one of them.
   */
  async function writeBoth(
    { path, text }: { path: string; text: Buffer },
    { log, lines }: { log: number; lines: Buffer },
    mode: bigint | undefined,
    withDir: boolean,
  ): Promise<Marks> {
    const fd = target.open(path, 'w')
    try {
      if (mode !== undefined && (Number(mode) & 0o777) !== OWN_MODE) target.chmod(fd, Number(mode))
      target.write(fd, text)
      target.write(log, lines)
      const syncs = [target.fsync(fd), target.fsync(log), ...(withDir ? [syncDir(dir, target)] : [])]
      // While the disk works; a sync changes neither time nor size.
      const marks = { document: fstatSync(fd, { bigint: true }), events: fstatSync(log, { bigint: true }) }
      // All of them end before the file is closed, also where one fails.
      const failed = (await Promise.allSettled(syncs)).find((one) => one.status === 'rejected')
      if (failed) throw failed.reason
      return marks
    } finally {
      target.close(fd)
    }
  }

  async function record(files: DocumentFiles, seen: Seen, commit: Commit): Promise<boolean> {
    const log = openLog(target, files, seen)
    let isDone = false
    try {
      const lines = encode(commit, seen, fingerprint(readFileSync(files.document)))
      target.write(log, lines)
      await target.fsync(log)
      isDone = true
      delete files.seen
      return true
    } finally {
      if (!isDone) await undo(files, seen)
    }
  }

  /** Takes back the events of a commit that failed, so that what was refused does not come back later. */
  async function undo(files: DocumentFiles, seen: Seen, temporary?: string): Promise<void> {
    delete files.seen
    if (temporary) target.remove(temporary)
    const log = openLog(target, files)
    target.truncate(log, seen.tail.end)
    await target.fsync(log)
  }

  /**
   * Makes the rename durable. The first one before the answer; a later text is also in the events, so its sync
   * may wait a moment, for a rest or for the commit that finds several such.
   */
  async function settle(files: DocumentFiles, isFirst: boolean): Promise<void> {
    files.unsynced += 1
    if (isFirst) {
      await syncDir(dir, target)
      files.unsynced = 0
    } else files.syncTimer ??= setTimeout(() => void syncLater(files), SYNC_DELAY).unref()
  }

  async function syncLater(files: DocumentFiles): Promise<void> {
    delete files.syncTimer
    if (files.unsynced === 0) return
    const { seen } = files
    try {
      await syncDir(dir, target)
      if (files.seen === seen) files.unsynced = 0
    } catch (error) {
      options.log?.warn(
        { dir, error: reasonOf(error) },
        'the directory could not be synced; the next write will',
      )
    }
  }

  function setTornAside(files: DocumentFiles, tail: LogTail): void {
    if (tail.torn === 0) return
    const torn = readFileSync(files.events).subarray(tail.end)
    const kept = `${files.events}.torn`
    const fd = target.open(kept, 'a')
    try {
      target.write(fd, Buffer.concat([torn, Buffer.from('\n')]))
    } finally {
      target.close(fd)
    }
    target.truncate(openLog(target, files), tail.end)
    options.log?.warn({ path: files.events, bytes: tail.torn, kept }, 'a torn last event was set aside')
  }
}

function remember(files: DocumentFiles, commit: Commit, marks: Marks, end: number): void {
  const revision = commit.changes.at(-1)?.seq ?? 0
  files.seen = {
    marks,
    stored: { revision, document: commit.document },
    base: revision,
    textTime: String(marks.document?.mtimeNs ?? ''),
    tail: { changes: [], end, torn: 0 },
  }
}

function encode(commit: Commit, seen: Seen, sha: string): Buffer {
  const based = { base: seen.base, baseTime: seen.textTime }
  const lines = commit.changes.map((change, index) =>
    JSON.stringify({ ...change, ...based, ...(index === commit.changes.length - 1 ? { sha } : {}) }),
  )
  return Buffer.from(`${lines.join('\n')}\n`)
}

/** `seen`: what a look under this very lock found, so that the file need not be looked at again. */
function openLog(target: Disk, files: DocumentFiles, seen?: Seen): number {
  const found = seen ? seen.marks.events : markOf(files.events)
  if (files.log && files.log.inode === found?.ino) return files.log.fd
  closeLog(target, files)
  const fd = target.open(files.events, 'a')
  files.log = { fd, inode: fstatSync(fd, { bigint: true }).ino }
  return fd
}

function closeLog(target: Disk, files: DocumentFiles): void {
  if (files.log) target.close(files.log.fd)
  delete files.log
  delete files.seen
}

function makeDir(target: Disk, path: string): void {
  try {
    target.makeDir(path)
  } catch (error) {
    throw new TriviumError('state_unwritable', { path, reason: reasonOf(error) }, { cause: error })
  }
}
