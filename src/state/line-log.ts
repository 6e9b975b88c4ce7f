import { closeSync, fstatSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileFailure, reasonOf, TriviumError } from '../core/errors.ts'
import type { JsonObject } from '../core/json.ts'
import { type Disk, disk, syncDir } from '../lib/disk.ts'
import { createFileLock } from '../lib/file-lock.ts'
import { createCommitQueue } from './commit-queue.ts'

/** An append-only file of JSON lines, each with a `time`. Any number of processes may append. */
export type LineLog = {
  /** Resolves when the line is durable; lines of the same moment share one sync. Throws `state_unwritable`. */
  append(entry: LogEntry): Promise<void>
  close(): Promise<void>
}

export type LogEntry = JsonObject & { time: string }

export type LineLogOptions = {
  /** `<dir>/<name>.jsonl`; full ones are `<dir>/<name>.<time of rotation>.jsonl`. */
  path: string
  /** Bytes and age (ms) of its first line from which a new file is begun; default 32 MB and 30 days. */
  maxSize?: number
  maxAge?: number
  /** How many full files stay; default 20. */
  keep?: number
  now?: () => number
  disk?: Disk
}

const DAY = 86_400_000
const NEWLINE = 10

type Job = { line: string; resolve(): void; reject(error: unknown): void }

/** Makes the writer of a log. Nothing is touched before the first line. */
export function createLineLog(options: LineLogOptions): LineLog {
  const { path, maxSize = 32 * 1024 * 1024, maxAge = 30 * DAY, keep = 20 } = options
  const now = options.now ?? Date.now
  const target = options.disk ?? disk
  const dir = dirname(path)
  const lock = createFileLock(`${path}.lock`, fileFailure(`${path}.lock`))
  const queue = createCommitQueue<Job>(write)
  let since: { inode: number; time: number } | undefined

  return {
    append: (entry) =>
      new Promise((resolve, reject) => queue.push({ line: `${JSON.stringify(entry)}\n`, resolve, reject })),
    async close() {
      await queue.idle()
      lock.close()
    },
  }

  async function write(jobs: Job[]): Promise<void> {
    try {
      target.makeDir(dir)
      const release = await lock.acquire()
      try {
        await rotateWhereDue()
        await append(Buffer.from(jobs.map((job) => job.line).join('')))
      } finally {
        release()
      }
      for (const job of jobs) job.resolve()
    } catch (error) {
      const failed =
        error instanceof TriviumError
          ? error
          : new TriviumError('state_unwritable', { path, reason: reasonOf(error) }, { cause: error })
      for (const job of jobs) job.reject(failed)
    }
  }

  async function append(bytes: Buffer): Promise<void> {
    const fd = target.open(path, 'a+')
    try {
      const { size } = fstatSync(fd)
      // A line that a crash cut off stays a line of its own, which readers pass over.
      const start = size > 0 && lastByte(fd, size) !== NEWLINE ? Buffer.from('\n') : Buffer.alloc(0)
      try {
        target.write(fd, Buffer.concat([start, bytes]))
        await target.fsync(fd)
      } catch (error) {
        target.truncate(fd, size)
        throw error
      }
      if (size === 0) await syncDir(dir, target)
    } finally {
      target.close(fd)
    }
  }

  async function rotateWhereDue(): Promise<void> {
    const found = statSync(path, { throwIfNoEntry: false })
    if (!found || found.size === 0) return
    if (since?.inode !== found.ino) since = { inode: found.ino, time: firstTime(path) ?? found.birthtimeMs }
    if (found.size < maxSize && now() - since.time < maxAge) return
    target.rename(path, fullName(path, now()))
    await syncDir(dir, target)
    for (const old of fullFiles(path).slice(0, -keep)) target.remove(old)
  }
}

/** The full files of a log, oldest first. */
export function fullFiles(path: string): string[] {
  const dir = dirname(path)
  const stem = basename(path, '.jsonl')
  const isFull = (name: string) =>
    name.startsWith(`${stem}.`) && /^\d{8}T\d{9}Z(-\d+)?$/.test(name.slice(stem.length + 1, -'.jsonl'.length))
  try {
    const names = readdirSync(dir).filter((name) => name.endsWith('.jsonl') && isFull(name))
    const byTime = (a: string, b: string) =>
      a.slice(0, -6).localeCompare(b.slice(0, -6), 'en', { numeric: true })
    return names.sort(byTime).map((name) => join(dir, name))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}

function fullName(path: string, time: number): string {
  const stem = path.slice(0, -'.jsonl'.length)
  const stamp = new Date(time).toISOString().replaceAll(/[-:.]/g, '')
  for (let count = 0; ; count += 1) {
    const name = count === 0 ? `${stem}.${stamp}.jsonl` : `${stem}.${stamp}-${count}.jsonl`
    if (statSync(name, { throwIfNoEntry: false }) === undefined) return name
  }
}

function lastByte(fd: number, size: number): number | undefined {
  const byte = Buffer.alloc(1)
  readSync(fd, byte, 0, 1, size - 1)
  return byte[0]
}

function firstTime(path: string): number | undefined {
  const fd = openSync(path, 'r')
  try {
    const bytes = Buffer.alloc(64 * 1024)
    const text = bytes.toString('utf8', 0, readSync(fd, bytes, 0, bytes.length, 0))
    const time = Date.parse(/"time":"([^"]+)"/.exec(text)?.[1] ?? '')
    return Number.isNaN(time) ? undefined : time
  } finally {
    closeSync(fd)
  }
}
