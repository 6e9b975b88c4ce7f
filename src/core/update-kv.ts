import { pause } from '../lib/pause.ts'
import { TriviumError } from './errors.ts'
import type { Json } from './json.ts'
import type { KeyValues } from './store.ts'

type Change = { value: Json; ttl?: number } | undefined

/** As many may write at once: each race that is lost is one that somebody won. */
const ATTEMPTS = 200

/** Compare-and-set of a key: `change` (undefined: leave it) is called again after a lost race. Throws `state_conflict`. */
export async function updateKv(
  kv: Pick<KeyValues, 'get' | 'set'>,
  key: string,
  change: (current: Json | undefined) => Change | Promise<Change>,
): Promise<Json | undefined> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const current = await kv.get(key)
    const next = await change(current?.value)
    if (!next) return current?.value
    const { value, ...options } = next
    const version = await kv.set(key, value, { ...options, ifVersion: current?.version ?? 0 })
    if (version !== undefined) return value
    // Random, so that writers that lost do not come back in step.
    await pause(Math.random() * Math.min(50, 2 ** attempt))
  }
  throw new TriviumError('state_conflict', { what: key })
}
