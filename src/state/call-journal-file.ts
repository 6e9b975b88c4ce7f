import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileFailure, reasonOf, TriviumError } from '../core/errors.ts'
import { isJsonObject } from '../core/json.ts'
import { type Disk, disk, syncDir, writeWhole } from '../lib/disk.ts'
import { createFileLock } from '../lib/file-lock.ts'
import type { CallJournal, CallRecord } from './call-ledger.ts'
import { createCommitQueue } from './commit-queue.ts'

type Options = {
  /** `<data dir>/pending_calls.jsonl`. */
  path: string
  /** How long a finished call is remembered (ms); default 7 days. An unfinished one stays. */
  keep?: number
  /** Size in bytes from which the file is compacted; default 8 MB. */
  compactAt?: number
  now?: () => number
  disk?: Disk
}

/** What this process has read so far of the file; another inode or a shorter file begins anew. */
type Read = { inode: number; end: number; records: Map<string, CallRecord> }

type Job = {
  apply(records: Map<string, CallRecord>): CallRecord | undefined
  resolve(): void
  reject(error: unknown): void
}

const DAY = 86_400_000

/** Calls as lines of a file, synced before each `begin` and `end` resolves; calls at the same time share a sync. */
export function createFileCallJournal(options: Options): CallJournal {
  const { path, keep = 7 * DAY, compactAt = 8 * 1024 * 1024 } = options
  const now = options.now ?? Date.now
  const target = options.disk ?? disk
  const lock = createFileLock(`${path}.lock`, fileFailure(`${path}.lock`))
  const by = `pid:${process.pid}`
  let read: Read = { inode: 0, end: 0, records: new Map() }
  const queue = createCommitQueue<Job>(commit)
  const time = () => new Date(now()).toISOString()
  const submit = (apply: Job['apply']) =>
    new Promise<void>((resolve, reject) => queue.push({ apply, resolve, reject }))

  return {
    async begin(key) {
      let earlier: CallRecord | undefined
      await submit((records) => {
        earlier = records.get(key)
        if (earlier?.state === 'failed') earlier = undefined
        return earlier ? undefined : { key, state: 'started', time: time(), by }
      })
      return earlier
    },
    end: (key, outcome) => submit(() => ({ key, time: time(), by, ...outcome })),
    async get(key) {
      await submit(() => undefined)
      return read.records.get(key)
    },
    async unfinished() {
      await submit(() => undefined)
      return [...read.records.values()].filter(isUnfinished)
    },
    async close() {
      await queue.idle()
      lock.close()
    },
  }

  async function commit(jobs: Job[]): Promise<void> {
    try {
      target.makeDir(dirname(path))
      const release = await lock.acquire()
      try {
        read = catchUp(path, read)
        const added = jobs.flatMap((job) => {
          const record = job.apply(read.records)
          // Seen at once by the next job of the batch: the same key begins once.
          if (record) read.records.set(record.key, record)
          return record ?? []
        })
        if (added.length > 0) await append(added)
        if (read.end > compactAt) await compact()
      } finally {
        release()
      }
      for (const job of jobs) job.resolve()
    } catch (error) {
      read = { inode: 0, end: 0, records: new Map() }
      const failed =
        error instanceof TriviumError
          ? error
          : new TriviumError('state_unwritable', { path, reason: reasonOf(error) }, { cause: error })
      for (const job of jobs) job.reject(failed)
    }
  }

  async function append(records: readonly CallRecord[]): Promise<void> {
    const isNew = read.inode === 0
    const fd = target.open(path, 'a')
    try {
      const bytes = Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join(''))
      // What stands after the last whole line was cut off by a crash and never counted.
      if (fstatSync(fd).size > read.end) target.truncate(fd, read.end)
      try {
        target.write(fd, bytes)
        await target.fsync(fd)
      } catch (error) {
        target.truncate(fd, read.end)
        throw error
      }
      read.end += bytes.length
      read.inode = fstatSync(fd).ino
    } finally {
      target.close(fd)
    }
    if (isNew) await syncDir(dirname(path), target)
  }

  /** Keeps one line a call, and of the finished only those that are young enough. */
  async function compact(): Promise<void> {
    const oldest = now() - keep
    const kept = [...read.records.values()].filter(
      (record) => isUnfinished(record) || (record.state === 'done' && Date.parse(record.time) >= oldest),
    )
    const bytes = Buffer.from(kept.map((record) => `${JSON.stringify(record)}\n`).join(''))
    // Where nearly all is still needed, writing it again would only be repeated with every call.
    if (bytes.length > read.end / 2) return
    await writeWhole(path, bytes, target)
    read = {
      inode: statSync(path).ino,
      end: bytes.length,
      records: new Map(kept.map((record) => [record.key, record])),
    }
  }
}

function isUnfinished(record: CallRecord): boolean {
  return record.state === 'started' || record.state === 'unknown'
}

/** Reads the whole lines that were added since. Called under the lock, so a torn last line is a dead writer's. */
function catchUp(path: string, read: Read): Read {
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found) return { inode: 0, end: 0, records: new Map() }
  const isSame = found.ino === read.inode && found.size >= read.end
  const base: Read = isSame ? read : { inode: found.ino, end: 0, records: new Map() }
  if (found.size === base.end) return base
  const bytes = Buffer.alloc(found.size - base.end)
  const fd = openSync(path, 'r')
  try {
    readSync(fd, bytes, 0, bytes.length, base.end)
  } finally {
    closeSync(fd)
  }
  const whole = bytes.lastIndexOf(10) + 1
  for (const line of bytes.toString('utf8', 0, whole).split('\n')) {
    if (line === '') continue
    const record = parse(line, path)
    base.records.delete(record.key)
    base.records.set(record.key, record)
  }
  return { ...base, end: base.end + whole }
}

function parse(line: string, path: string): CallRecord {
  try {
    const record: CallRecord = JSON.parse(line)
    if (isJsonObject(record) && typeof record.key === 'string') return record
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  throw new TriviumError('state_corrupt', {
    path,
    name: 'pending_calls',
    reason: `this line is no call: ${line.slice(0, 80)}`,
  })
}
