import { spawn } from 'node:child_process'
import { createWriteStream, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { Cluster, Redis } from 'ioredis'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import { parseHead } from './codec.ts'
import { type ConnectOptions, connect } from './connect.ts'
import { FORMAT } from './index.ts'
import { countUsers } from './users.ts'

/** Streams with more entries are copied in parts, as a Redis value is limited to 512 MB. */
const LONG = 10_000
/** Number of entries or keys in a part. */
const PART = 200

/** Called with received bytes or keys. */
type Progress = (part: { length: number }) => void

/**
 * Saves a snapshot of each master to `<dir>/redis-<n>.rdb`, like `redis-cli --rdb`. Returns the
 * file names and the database number. Throws `store_unavailable`, or `backup_refused` if the user
 * may not run `SYNC`.
 */
export async function dumpServers(options: ConnectOptions, dir: string, progress: Progress) {
  const { client, close } = await connect(options)
  try {
    const servers = client instanceof Cluster ? client.nodes('master') : [client]
    const files = servers.map((_, n) => `redis-${n}.rdb`)
    for (const [n, server] of servers.entries()) await dump(server, join(dir, files[n] ?? ''), progress)
    return { files, db: client instanceof Cluster ? 0 : (client.options.db ?? 0) }
  } finally {
    close()
  }
}

/** Acts as a replica until it has the snapshot (https://redis.io/docs/latest/commands/sync/). */
async function dump(server: Redis, file: string, progress: Progress): Promise<void> {
  const client = server.duplicate({ lazyConnect: true, enableReadyCheck: false, retryStrategy: () => null })
  client.on('error', () => {})
  await client.connect()
  const { stream: socket } = client
  // The following data is not a normal reply.
  socket.removeAllListeners('data')
  socket.write('SYNC\r\n')
  async function* snapshot() {
    let head = ''
    let left: number | undefined
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      let body = chunk
      if (left === undefined) {
        head += chunk.toString('latin1')
        // Empty lines are keep-alives while the snapshot is being made.
        const [, line, rest] = /^\n*([^\r\n]+)\r\n([\s\S]*)$/.exec(head) ?? []
        if (line === undefined || rest === undefined) continue
        const size = /^\$(\d+)$/.exec(line)?.[1]
        if (size === undefined) throw refusal(line)
        left = Number(size)
        body = Buffer.from(rest, 'latin1')
      }
      const part = body.subarray(0, left)
      left -= part.length
      progress(part)
      yield part
      if (left === 0) return
    }
    throw new Error('the connection broke')
  }
  try {
    await pipeline(snapshot, createWriteStream(file, { flush: true }))
  } finally {
    client.disconnect()
  }
}

function refusal(line: string): TriviumError {
  const needs = /NOPERM/.test(line) ? '; the user needs the right `+sync`' : ''
  const reason = `${line.replace(/^-/, '')}${needs}`
  return new TriviumError('backup_refused', { what: 'The copy of Redis', reason })
}

/**
 * Restores the snapshots of `dumpServers` into a Redis without keys of that prefix; `empty` deletes
 * them first, once the snapshots can be read. Returns the number of keys. A local `redis-server`
 * reads the snapshots. Throws `backup_refused` and `store_version`.
 */
export async function restoreServers(
  options: ConnectOptions & { prefix: string; db: number; empty?: boolean },
  files: readonly string[],
  progress: Progress,
): Promise<number> {
  const { prefix, db, empty = false } = options
  const { client, address, close } = await connect(options)
  try {
    const isEmpty = (await client.exists(`{${prefix}}:format`)) === 0
    if (!isEmpty && !empty) {
      const reason = `it has keys that begin with {${prefix}; stop all daemons, then delete these keys with --empty-redis, or name another Redis`
      throw new TriviumError('backup_refused', { what: `Restoring into ${address}`, reason })
    }
    if (empty) {
      await refuseInUse(client, address, prefix)
      await readServers(options, files)
      await deleteKeys(client, prefix, progress)
    }
    let keys = 0
    for (const file of files) {
      await using source = await serve(file, db)
      await formatOf(source.client, file, prefix)
      keys += await copyKeys(source.client, client, prefix, progress)
    }
    if (keys === 0) throw noKeys(prefix)
    return keys
  } finally {
    close()
  }
}

/** Throws `backup_refused` while daemons are subscribed to the signals of the store. */
async function refuseInUse(client: Redis | Cluster, address: string, prefix: string): Promise<void> {
  const users = await countUsers(client, prefix)
  if (users === 0) return
  const reason = `daemons or commands are connected to it (${users}); stop all daemons first. Redis may notice only after minutes that a machine is gone`
  throw new TriviumError('backup_refused', { what: `Restoring into ${address}`, reason })
}

/** Deletes all keys of a prefix, on every master. */
async function deleteKeys(client: Redis | Cluster, prefix: string, progress: Progress): Promise<void> {
  const servers = client instanceof Cluster ? client.nodes('master') : [client]
  for (const server of servers) {
    for await (const keys of ownKeys(server, prefix)) {
      // One key per command, because the keys of a Cluster are in different slots.
      await Promise.all(keys.map((key) => client.unlink(key)))
      progress(keys)
    }
  }
}

/**
 * The format of a snapshot; 0 if it does not have the key of the format, which is in only one of
 * the snapshots. Throws `store_version` for the format of a newer Trivium.
 */
async function formatOf(client: Redis, path: string, prefix: string): Promise<number> {
  const found = Number(await client.get(`{${prefix}}:format`))
  if (found > FORMAT) throw new TriviumError('store_version', { path, found, known: FORMAT })
  return found
}

function noKeys(prefix: string): TriviumError {
  const reason = `the archive has no keys that begin with {${prefix}; is TRIVIUM_REDIS_PREFIX that of the backup?`
  return new TriviumError('backup_refused', { what: 'Restoring', reason })
}

/**
 * Reads the snapshots of `dumpServers` as `restoreServers` does, one after the other, and counts
 * their messages. Throws `backup_refused`, and `store_version` for those of a newer Trivium.
 */
export async function readServers(
  { prefix, db }: { prefix: string; db: number },
  files: readonly string[],
): Promise<{ messages: number; newestAt?: number }> {
  let messages = 0
  let newestAt = 0
  let format = 0
  for (const path of files) {
    await using source = await serve(path, db)
    format = Math.max(format, await formatOf(source.client, path, prefix))
    for (const journal of await journalsOf(source.client, prefix)) {
      messages += await source.client.xlen(journal)
      const [entry] = await source.client.xrevrange(journal, '+', '-', 'COUNT', 1)
      newestAt = Math.max(newestAt, parseHead(entry?.[1][1] ?? '').time)
    }
  }
  if (format === 0) throw noKeys(prefix)
  return { messages, ...(newestAt > 0 && { newestAt }) }
}

/** The journals of messages, one for each shard. */
async function journalsOf(client: Redis, prefix: string): Promise<string[]> {
  const found = new Set<string>()
  for await (const keys of client.scanStream({ match: `{${escaped(prefix)}*}:journal`, count: LONG }))
    for (const key of keys as string[]) found.add(key)
  return [...found].filter((key) => /^(:\d+(\.\d+)?)?\}/.test(key.slice(1 + prefix.length)))
}

/** Starts a temporary server, on a socket beside the file. */
async function serve(file: string, db: number) {
  const path = `${file}.sock`
  const own = ['--port', '0', '--unixsocket', path, '--dir', dirname(file), '--dbfilename', basename(file)]
  const server = spawn('redis-server', [...own, '--save', '', '--appendonly', 'no'])
  let said = ''
  server.stdout.on('data', (text) => {
    said = `${said}${text}`.slice(-1_000)
  })
  let end: string | undefined
  server.on('error', (error) => {
    end = `${reasonOf(error)}; it needs \`redis-server\` on this machine, to read the copy`
  })
  server.on('exit', () => {
    end ??= `redis-server cannot read ${basename(file)}: ${said.trim().split('\n').at(-1)}`
  })
  const client = new Redis({
    path,
    db,
    lazyConnect: true,
    retryStrategy: () => (end === undefined ? 50 : null),
  })
  client.on('error', () => {})
  try {
    await client.connect().catch(() => undefined)
    while (client.status !== 'ready') {
      if (end !== undefined) throw new TriviumError('backup_refused', { what: 'Restoring', reason: end })
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  } catch (error) {
    client.disconnect()
    server.kill('SIGKILL')
    throw error
  }
  return {
    client,
    async [Symbol.asyncDispose]() {
      client.disconnect()
      if (end !== undefined) return
      const ended = new Promise((resolve) => server.once('exit', resolve))
      server.kill('SIGKILL')
      await ended
      // Left behind by the killed server.
      rmSync(path, { force: true })
    },
  }
}

/** A prefix in a pattern of SCAN. */
const escaped = (prefix: string) => prefix.replaceAll(/[\\*?[\]]/g, '\\$&')

async function copyKeys(from: Redis, to: Redis | Cluster, prefix: string, progress: Progress) {
  let count = 0
  /** SCAN may return a key twice. */
  const copied = new Set<string>()
  for await (const own of ownKeys(from, prefix)) {
    const keys = own.filter((key) => !copied.has(key) && copied.add(key))
    await Promise.all(keys.map((key) => copyKey(from, to, key)))
    count += keys.length
    progress(keys)
  }
  return count
}

/** The keys of a prefix on a server, in parts. Some may come twice. */
async function* ownKeys(server: Redis, prefix: string): AsyncGenerator<string[]> {
  for await (const found of server.scanStream({ match: `{${escaped(prefix)}*`, count: PART }))
    yield (found as string[]).filter((key) => /^[}:]/.test(key.slice(1 + prefix.length)))
}

async function copyKey(from: Redis, to: Redis | Cluster, key: string): Promise<void> {
  const type = await from.type(key)
  if (type === 'stream' && (await from.xlen(key)) > LONG) return copyStream(from, to, key)
  const [value, ttl] = await Promise.all([from.dumpBuffer(key), from.pttl(key)])
  if (value !== null) await to.restore(key, Math.max(0, ttl), value, 'REPLACE')
}

async function copyStream(from: Redis, to: Redis | Cluster, key: string): Promise<void> {
  await to.del(key)
  for (let start = '-'; ; ) {
    const entries = await from.xrangeBuffer(key, start, '+', 'COUNT', PART)
    await Promise.all(entries.map(([id, fields]) => to.xadd(key, id, ...fields)))
    const last = entries.at(-1)
    if (!last || entries.length < PART) break
    start = `(${last[0]}`
  }
  const info = Object(await from.xinfo('STREAM', key)) as string[]
  const last = info[info.indexOf('last-generated-id') + 1]
  await to.call('XSETID', key, last ?? '0-0')
}
