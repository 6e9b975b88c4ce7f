import { z } from 'zod'
import type { KeyValues } from '../../core/store.ts'

/** While the store has this value, daemons only accept. */
export const STORE_PAUSE_KEY = 'store-pause'

const recordSchema = z.object({ since: z.number() })

/** Pauses the work of all daemons that start on the store later. `since`: Unix ms. */
export async function pauseStore(kv: Pick<KeyValues, 'set'>, since: number): Promise<void> {
  await kv.set(STORE_PAUSE_KEY, { since })
}

/** The start of the pause (Unix ms); undefined if the store is not paused. */
export async function storePausedSince(kv: Pick<KeyValues, 'get'>): Promise<number | undefined> {
  const found = await kv.get(STORE_PAUSE_KEY)
  return found && (recordSchema.safeParse(found.value).data?.since ?? 0)
}
