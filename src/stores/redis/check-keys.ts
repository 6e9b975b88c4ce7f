import { Cluster, type Redis } from 'ioredis'
import type { Check } from '../../core/transport.ts'
import { type ConnectOptions, connect } from './connect.ts'

/** Number of keys per step. */
const STEP = 1_000
/** Maximum number of steps. A Redis that others use too may be large. */
const MAX_STEPS = 5_000
/** Maximum number of keys in the result. */
const MAX_SHOWN = 5

/**
 * For `trivium doctor`: the keys of the state (`{<prefix>:kv}:…`) whose type is wrong, because
 * another program wrote them. Each call that needs such a key fails. Never rejects: problems are in
 * the result, and `checkRedis` reports a Redis that cannot be reached.
 */
export async function checkStateKeys(options: ConnectOptions & { prefix: string }): Promise<Check[]> {
  const name = 'Redis: keys'
  try {
    const { client, close } = await connect({ ...options, commandTimeout: 5_000 })
    try {
      const servers = client instanceof Cluster ? client.nodes('master') : [client]
      const found = await Promise.all(servers.map((server) => wrongKeys(server, `{${options.prefix}:kv}:`)))
      const wrong = found.flat()
      const detail = `of another type than Trivium writes: ${wrong.slice(0, MAX_SHOWN).join(', ')}`
      const more = wrong.length > MAX_SHOWN ? ` and ${wrong.length - MAX_SHOWN} more` : ''
      if (wrong.length === 0) return [{ name, ok: true, detail: 'those of the state have the right types' }]
      return [{ name, ok: false, detail: `${detail}${more}. Rename or delete them` }]
    } finally {
      close()
    }
  } catch {
    // `checkRedis` reports it.
    return []
  }
}

async function wrongKeys(server: Redis, root: string): Promise<string[]> {
  const wrong: string[] = []
  const match = `${root.replaceAll(/[\\*?[\]]/g, '\\$&')}*`
  let cursor = '0'
  for (let step = 0; step < MAX_STEPS; step++) {
    const [next, keys] = await server.scan(cursor, 'MATCH', match, 'COUNT', STEP)
    const types = await Promise.all(keys.map((key) => server.type(key)))
    for (const [index, key] of keys.entries()) {
      const actual = types[index]
      const expected = typeOf(key.slice(root.length))
      if (actual !== 'none' && expected !== undefined && actual !== expected)
        wrong.push(`${key} (${actual}, not ${expected})`)
    }
    cursor = next
    if (cursor === '0') break
  }
  return wrong
}

/** The type of a key, as `lua/kv.lua` writes it; undefined for one that it does not know. */
function typeOf(name: string): string | undefined {
  if (name.startsWith('value:')) return 'hash'
  return { index: 'zset', version: 'string' }[name]
}
