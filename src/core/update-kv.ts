import { pause } from '../lib/pause.ts'
import { TriviumError } from './errors.ts'
import type { Json } from './json.ts'
import type { KeyValues } from './store.ts'

type Change = { value: Json; ttl?: number } | undefined

/** Enough for this many concurrent writers: for every lost race, another writer succeeded. */
const ATTEMPTS = 200
/** Maximum pause (ms) after a lost race. */
const MAX_PAUSE = 50

/**
 * Updates a key by compare-and-set. `change` is called again after a lost race; undefined leaves
 * the value. Throws `state_conflict`.
 */
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
    // Random, so that losing writers do not retry in step.
    await pause(Math.random() * Math.min(MAX_PAUSE, 2 ** attempt))
  }
  throw new TriviumError('state_conflict', { what: key })
}
