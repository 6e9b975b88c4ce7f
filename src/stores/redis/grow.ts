import { Cluster } from 'ioredis'
import { TriviumError } from '../../core/errors.ts'
import { KEY_TTL } from '../../core/lifetimes.ts'
import type { StoreStats } from '../../core/store.ts'
import { type ConnectOptions, connect } from './connect.ts'
import { checkFormat, FORMAT, layoutOf } from './index.ts'
import { grown, type Layout } from './layout.ts'
import { rootOf } from './roots.ts'
import { createServer } from './scripts.ts'

/** Maximum of `redis: { shards }`. */
const MAX_SHARDS = 256
/** Buckets of `lua/lib/seen.lua` read at once. */
const AT_ONCE = 1_024

/**
 * Adds shards to a Redis store without running daemons. Existing data stays in place with its ids;
 * idempotency keys are copied to the shards that look them up from now on. Can be interrupted and
 * repeated. `force`: even if messages wait for dispatch. Throws `store_shards` if not allowed.
 */
export async function growStore(
  options: ConnectOptions & { prefix: string; shards: number; force: boolean },
  progress: (part: number) => void,
): Promise<{ before: number; now: number; keys: number }> {
  const { prefix, shards, force } = options
  const connection = await connect(options)
  const { client, address: store } = connection
  try {
    const server = createServer(connection, prefix, options)
    await checkFormat(server, store)
    const layout = await layoutOf(server, connection)
    const { of: found } = layout
    const refuse = (reason: string) => new TriviumError('store_shards', { store, found, reason })
    const checkDaemons = async () => {
      const nodes = client instanceof Cluster ? client.nodes('all') : [client]
      const counts = await Promise.all(nodes.map((node) => node.pubsub('NUMSUB', server.channel)))
      if (counts.some(([, count]) => Number(count) > 0)) throw refuse('stop all daemons first')
    }
    if (shards <= found || shards > MAX_SHARDS)
      throw refuse(`choose a larger number, up to ${MAX_SHARDS}, not ${shards}`)
    await checkDaemons()
    const old = Array.from({ length: found }, (_, shard) => server.at(shard, layout))
    const waiting = await Promise.all(old.map(({ run, roots }) => run<string>('stats', roots.main)))
    const count = waiting.reduce((sum, json) => sum + leftIn(JSON.parse(json)), 0)
    if (count > 0 && !force)
      throw refuse(
        `${count} messages and jobs wait; let a daemon finish them, or add --force: later messages of their conversations may then overtake them`,
      )
    const ends = await Promise.all(
      old.map(async ({ call, roots }) => Number((await call('HGET', `${roots.main}meta`, 'end')) ?? 0)),
    )
    const next = grown(layout, ends, shards)
    const keys = await moveKeys(client, prefix, layout, next, progress)
    await checkDaemons()
    await server.call('MSET', `${server.main}format`, FORMAT, `${server.main}shards`, next.text)
    return { before: found, now: shards, keys }
  } finally {
    connection.close()
  }
}

function leftIn({ dispatch, jobs }: Pick<StoreStats, 'dispatch' | 'jobs'>): number {
  return Object.values(jobs).reduce((sum, { waiting, running }) => sum + waiting + running, dispatch.unpumped)
}

const LETTERS = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_']
/** Suffixes of bucket names: two letters of the digest, and a quarter of the third. */
const BUCKETS = LETTERS.flatMap((a) => LETTERS.flatMap((b) => [0, 1, 2, 3].map((n) => `${a}${b}${n}`)))

/**
 * Copies the place of the first message of each key to the shard that looks up the key from now on.
 * Returns the number of keys.
 */
async function moveKeys(
  client: Awaited<ReturnType<typeof connect>>['client'],
  prefix: string,
  layout: Layout,
  next: Layout,
  progress: (part: number) => void,
): Promise<number> {
  let moved = 0
  /** Existing shards keep their roots. */
  const roots = Array.from({ length: next.of }, (_, shard) => rootOf(prefix, shard, next))
  const copyTo = async (home: number, bucket: string, entries: readonly (readonly [string, Buffer])[]) => {
    const key = `${roots[home]}places:${bucket}`
    await client.hset(key, ...entries.flat())
    await client.expire(key, KEY_TTL / 1_000)
    moved += entries.length
  }
  const move = async (shard: number, kind: 'seen' | 'places', buckets: readonly string[]) => {
    const names = buckets.map((bucket) => `${roots[shard]}${kind}:${bucket}`)
    const read = client.pipeline(names.map((name) => ['hgetallBuffer', name]))
    for (const [at, [error, found]] of ((await read.exec()) ?? []).entries()) {
      if (error) throw error
      const bucket = buckets[at] ?? ''
      const entries = Object.entries(found as Record<string, Buffer>).map(([field, value]) => {
        const place = Buffer.concat([value.subarray(0, 4), Buffer.from(`${shard}`)])
        return [field, kind === 'seen' ? place : value] as const
      })
      const byHome = Map.groupBy(entries, ([field]) => next.shardOfKey(bucket.slice(0, 2) + field))
      byHome.delete(shard)
      for (const [home, some] of byHome) await copyTo(home, bucket, some)
    }
  }
  // A single shard keeps no places.
  const kinds = layout.of === 1 ? (['seen'] as const) : (['seen', 'places'] as const)
  for (let shard = 0; shard < layout.of; shard++) {
    for (let at = 0; at < BUCKETS.length; at += AT_ONCE) {
      for (const kind of kinds) await move(shard, kind, BUCKETS.slice(at, at + AT_ONCE))
      progress((shard + at / BUCKETS.length) / layout.of)
    }
  }
  return moved
}
