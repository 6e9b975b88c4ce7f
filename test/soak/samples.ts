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

/**
 * What a Redis holds: MB of memory, and the number of keys without those that are kept for seven days or longer: idempotency
 * keys, the ends of jobs, the last position of topics that are empty, and which replies were sent to Slack and by mail.
 */
export async function redisSample(url: string): Promise<Sample> {
  const client = new Redis(url)
  try {
    const used = /used_memory:(\d+)/.exec(await client.info('memory'))?.[1]
    let keys = 0
    for await (const some of client.scanStream({ count: 1_000 })) {
      keys += some.filter(
        (key: string) => !/seen:|:done:|:meta$|:value:(slack|email)\/[^/]+\/(sent|call)\//.test(key),
      ).length
    }
    return { redis: round(Number(used) / MB), keys }
  } finally {
    client.disconnect()
  }
}

/** A file may go between the listing and the look. */
function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
