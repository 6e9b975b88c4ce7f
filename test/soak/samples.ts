import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import type { Sample } from './flatness.ts'

const MB = 2 ** 20
/** Logs of what was said: they grow by a line for each message, and begin anew at 32 MB. */
const LOGS = /\.jsonl(\.\d+)?$/

/** What a process holds: resident memory in MB, open files and threads. */
export function processSample(pid: number): Sample {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1])
  return {
    rss: Math.round(field('VmRSS') / 1024),
    handles: readdirSync(`/proc/${pid}/fd`).length,
    threads: field('Threads'),
  }
}

/** The files of a folder: how many, and the MB of logs and of the rest. */
export function folderSample(folder: string): Sample {
  const sizes = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => ({ name, size: sizeOf(join(parentPath, name)) }))
  const sum = (isWanted: (name: string) => boolean) =>
    round(sizes.reduce((total, { name, size }) => total + (isWanted(name) ? size : 0), 0) / MB)
  return {
    files: sizes.length,
    logs: sum((name) => LOGS.test(name)),
    stored: sum((name) => !LOGS.test(name)),
  }
}

/** Seconds. What has longer to live is kept on purpose: records of replies and mails, rights to files. */
const LONG = 12 * 3_600
/** Idempotency keys, the ends of jobs, and the last position of topics that are empty: kept for seven days. */
const KEPT = /seen:|:done:|:meta$/

/** MB of memory of a Redis, and the number of its keys: those that are `kept` for many hours or days, and the others by kind. */
export async function redisSample(url: string): Promise<{ sample: Sample; kinds: Record<string, number> }> {
  const client = new Redis(url)
  try {
    const used = /used_memory:(\d+)/.exec(await client.info('memory'))?.[1]
    const kinds: Record<string, number> = {}
    let [kept, keys] = [0, 0]
    for await (const some of client.scanStream({ count: 1_000 })) {
      const names: string[] = some
      const seconds = await Promise.all(names.map((name) => client.ttl(name)))
      for (const [at, name] of names.entries()) {
        if (KEPT.test(name) || Number(seconds[at]) > LONG) kept++
        else {
          const kind = kindOf(name)
          kinds[kind] = (kinds[kind] ?? 0) + 1
          keys++
        }
      }
    }
    return { sample: { redis: round(Number(used) / MB), keys, kept }, kinds }
  } finally {
    client.disconnect()
  }
}

/** The name with a star for each part that has a digit, which is an id. */
function kindOf(name: string): string {
  return name.replace(/[\w%.@+=-]*\d[\w%.@+=-]*/g, '*')
}

/** A file may go between the listing and the look. */
function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
