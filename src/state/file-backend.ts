import { readFileSync, statSync, watch } from 'node:fs'
import { join } from 'node:path'
import { reasonOf, TriviumError } from '../core/errors.ts'
import { isJsonObject, type JsonObject } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { Commit, DocumentBackend, Stored } from './backend.ts'
import { type LoggedChange, type LogTail, readChanges, readTail } from './change-log.ts'
import { type Disk, disk, syncDir, temporaryName, writeWhole } from './disk.ts'
import { fingerprint, formatDocument, parseDocument } from './document.ts'
import { createFileLock, type FileLock } from './file-lock.ts'
import { applyPatch } from './patch.ts'

/** What one document's files were when we last looked; the same stamp means the same content. */
type Seen = { stamp: string; stored: Stored; base: number; textTime: string; tail: LogTail }

type Files = {
  name: string
  document: string
  events: string
  lock: FileLock
  log?: { fd: number; inode: string }
  seen?: Seen
  /** Set while a rename may not be durable; the next commit makes it so before its own. */
  isDirty: boolean
  syncTimer?: NodeJS.Timeout
}

const SYNC_DELAY = 10

/**
 * Documents as `<dir>/<name>.json` with their events in `<dir>/<name>.events.jsonl`. A commit appends and
 * syncs its events, and writes and syncs the new text beside the old, before it renames the text into place
 * and answers. Then events are never behind the text, and text that is behind is caught up from them.
 */
export function createFileBackend(options: { dir: string; disk?: Disk; log?: Log }): DocumentBackend {
  const { dir } = options
  const target = options.disk ?? disk
  const open = new Map<string, Files>()

  const filesOf = (name: string): Files => {
    const known = open.get(name)
    if (known) return known
    makeDir(target, dir)
    const files: Files = {
      name,
      document: join(dir, `${name}.json`),
      events: join(dir, `${name}.events.jsonl`),
      lock: createFileLock(join(dir, `${name}.lock`)),
      isDirty: true,
    }
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
    kind: 'file',
    locate: (name) => join(dir, `${name}.json`),
    async read(name) {
      const files = filesOf(name)
      if (files.seen && files.seen.stamp === stampOf(files)) return files.seen.stored
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
          const seen = look(files)
          const commit = work(seen.stored)
          if (!commit) return
          if (await write(files, seen, commit)) return
        }
      })
    },
    changes: (name, after) => readChanges(join(dir, `${name}.events.jsonl`), name, after),
    async backup(name, label) {
      const path = join(dir, `${name}.${label}.backup.json`)
      await writeWhole(target, path, dir, readFileSync(join(dir, `${name}.json`)))
      return path
    },
    setAside: (name, what, label) =>
      locked(name, async (files) => {
        const path = what === 'document' ? files.document : files.events
        if (statSync(path, { throwIfNoEntry: false }) === undefined) return undefined
        const kept = `${path}.${label}`
        closeLog(target, files)
        target.rename(path, kept)
        await syncDir(target, dir)
        return kept
      }),
    watch(name, listener) {
      makeDir(target, dir)
      const watcher = watch(dir, { persistent: false }, (_, file) => {
        if (file === `${name}.json` || file === `${name}.events.jsonl` || file === null) listener()
      })
      watcher.on('error', (error) => options.log?.warn({ dir, error: reasonOf(error) }, 'watching stopped'))
      return () => watcher.close()
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

  /** False: a person saved the file in between; nothing was written and `work` must look again. */
  async function write(files: Files, seen: Seen, commit: Commit): Promise<boolean> {
    try {
      setTornAside(files, seen.tail)
      return commit.keepText ? await record(files, seen, commit) : await replace(files, seen, commit)
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

  async function replace(files: Files, seen: Seen, commit: Commit): Promise<boolean> {
    const text = formatDocument(commit.document)
    const temporary = temporaryName(files.document)
    const log = openLog(target, files)
    let isRenamed = false
    try {
      const lines = encode(commit, seen, fingerprint(text))
      await writeBoth(temporary, Buffer.from(text), log, lines, files.isDirty)
      if (textStamp(files.document) !== seen.stamp.split('|')[1]) return false
      // Of the file before it is in its place, where a person could already have saved over it.
      const written = {
        stamp: textStamp(temporary),
        time: String(statSync(temporary, { bigint: true }).mtimeNs),
      }
      target.rename(temporary, files.document)
      isRenamed = true
      remember(files, commit, written, seen.tail.end + lines.length)
    } finally {
      if (!isRenamed) await undo(files, seen, temporary)
    }
    await settle(files, 'missing' in seen.stored)
    return true
  }

  /** The new text and its events, both on the disk before the rename; their syncs share one journal commit. */
  async function writeBoth(path: string, text: Buffer, log: number, lines: Buffer, withDir: boolean) {
    const fd = target.open(path, 'w')
    try {
      target.write(fd, text)
      target.write(log, lines)
      const syncs = [target.fsync(fd), target.fsync(log), ...(withDir ? [syncDir(target, dir)] : [])]
      // All of them end before the file is closed, also where one fails.
      const failed = (await Promise.allSettled(syncs)).find((one) => one.status === 'rejected')
      if (failed) throw failed.reason
    } finally {
      target.close(fd)
    }
  }

  async function record(files: Files, seen: Seen, commit: Commit): Promise<boolean> {
    const log = openLog(target, files)
    let isDone = false
    try {
      const lines = encode(commit, seen, fingerprint(readFileSync(files.document, 'utf8')))
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
  async function undo(files: Files, seen: Seen, temporary?: string): Promise<void> {
    delete files.seen
    if (temporary) target.remove(temporary)
    const log = openLog(target, files)
    target.truncate(log, seen.tail.end)
    await target.fsync(log)
  }

  /**
   * Makes the rename durable. The first one before the answer; a later text is also in the events, so its
   * sync may wait a moment for the next commit, which then does it beside its own.
   */
  async function settle(files: Files, isFirst: boolean): Promise<void> {
    files.isDirty = true
    if (isFirst) {
      await syncDir(target, dir)
      files.isDirty = false
    } else files.syncTimer ??= setTimeout(() => void syncLater(files), SYNC_DELAY).unref()
  }

  async function syncLater(files: Files): Promise<void> {
    delete files.syncTimer
    if (!files.isDirty) return
    const { seen } = files
    try {
      await syncDir(target, dir)
      if (files.seen === seen) files.isDirty = false
    } catch (error) {
      options.log?.warn(
        { dir, error: reasonOf(error) },
        'the directory could not be synced; the next write will',
      )
    }
  }

  function setTornAside(files: Files, tail: LogTail): void {
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

/** Reads what is there, unless nothing changed since the last time. */
function look(files: Files): Seen {
  const stamp = stampOf(files)
  if (files.seen?.stamp === stamp) return files.seen
  const tail = readTail(files.events, files.name)
  const found = statSync(files.document, { bigint: true, throwIfNoEntry: false })
  const text = found ? readFileSync(files.document, 'utf8') : undefined
  const textTime = String(found?.mtimeNs ?? '')
  const { stored, base } = interpret(text, textTime, Number(found?.mtimeMs ?? 0), tail.changes)
  files.isDirty = true
  files.seen = { stamp, stored, base, textTime, tail }
  return files.seen
}

/** Tells apart: up to date, cut off by a crash before the rename, edited by a person, and not there. */
function interpret(
  text: string | undefined,
  textTime: string,
  at: number,
  changes: readonly LoggedChange[],
): { stored: Stored; base: number } {
  const last = changes.at(-1)
  const revision = last?.seq ?? 0
  if (text === undefined) {
    // Only the event log is left: a new document continues its numbers.
    return { stored: { revision, missing: true }, base: revision }
  }
  const sha = fingerprint(text)
  if (last?.sha === sha) {
    return { stored: { revision, document: last.document ?? parseDocument(text) }, base: revision }
  }
  const index = changes.findLastIndex(
    (change, at) =>
      change.sha === sha && changes[at + 1]?.base === change.seq && changes[at + 1]?.baseTime === textTime,
  )
  const start = changes[index]
  if (start) {
    const document = changes.slice(index + 1).reduce(after, start.document ?? parseDocument(text))
    return { stored: { revision, document }, base: start.seq }
  }
  return { stored: { revision, edited: { text, at } }, base: revision }
}

function after(document: JsonObject, change: LoggedChange): JsonObject {
  if (change.document) return change.document
  const next = applyPatch(document, change.patch ?? [])
  return isJsonObject(next) ? next : {}
}

function remember(files: Files, commit: Commit, written: { stamp: string; time: string }, end: number): void {
  const revision = commit.changes.at(-1)?.seq ?? 0
  files.seen = {
    stamp: `${textStamp(files.events)}|${written.stamp}`,
    stored: { revision, document: commit.document },
    base: revision,
    textTime: written.time,
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

function stampOf(files: Files): string {
  return `${textStamp(files.events)}|${textStamp(files.document)}`
}

/** Inode, time and size: a rename brings another inode, an append another size. */
function textStamp(path: string): string {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found ? `${found.ino}:${found.mtimeNs}:${found.size}` : ''
}

function openLog(target: Disk, files: Files): number {
  const inode = String(statSync(files.events, { throwIfNoEntry: false })?.ino ?? '')
  if (files.log && files.log.inode === inode) return files.log.fd
  closeLog(target, files)
  const fd = target.open(files.events, 'a')
  files.log = { fd, inode: String(statSync(files.events).ino) }
  return fd
}

function closeLog(target: Disk, files: Files): void {
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
