import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import type { Sample } from './flatness.ts'

const MB = 2 ** 20
/** Logs of messages, which grow by a line per message and start over at 32 MB. */
const LOGS = /\.jsonl(\.\d+)?$/

/** A process: resident memory in MB, open files and threads. */
export function processSample(pid: number): Sample {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1])
  return {
    rss: Math.round(field('VmRSS') / 1024),
    handles: readdirSync(`/proc/${pid}/fd`).length,
    threads: field('Threads'),
  }
}

/** The files of a folder: their number, and the MB of logs and of other files. */
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

/**
 * Seconds. Keys with a longer time to live are kept on purpose: records of replies and mails,
 * rights to files.
 */
const LONG_TTL = 12 * 3_600
/**
 * Keys that are kept for seven days: idempotency keys, results of jobs, and positions of empty
 * topics.
 */
const KEPT_FOR_DAYS = /seen:|:done:|:meta$/

/**
 * A Redis: memory in MB, and numbers of keys: `kept` for hours or days, and `keys` of other kinds.
 */
export async function redisSample(url: string): Promise<{ sample: Sample; kinds: Record<string, number> }> {
  const client = new Redis(url)
  try {
    const used = /used_memory:(\d+)/.exec(await client.info('memory'))?.[1]
    const kinds: Record<string, number> = {}
    let kept = 0
    let keys = 0
    for await (const some of client.scanStream({ count: 1_000 })) {
      const names: string[] = some
      const seconds = await Promise.all(names.map((name) => client.ttl(name)))
      for (const [index, name] of names.entries()) {
        if (KEPT_FOR_DAYS.test(name) || Number(seconds[index]) > LONG_TTL) kept++
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

/** The name with a star for each id, which is a part with a digit. */
function kindOf(name: string): string {
  return name.replace(/[\w%.@+=-]*\d[\w%.@+=-]*/g, '*')
}

/** 0 if the file was removed meanwhile. */
function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
