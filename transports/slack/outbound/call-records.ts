import { z } from 'zod'
import { allKeys } from '../../../src/core/all-keys.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { DAY } from '../../../src/core/units.ts'
import { hashOf } from './methods.ts'

/** Slightly longer than the store keeps messages and the keys of replies. */
export const RECORD_TTL_MS = 8 * DAY
/** Maximum number of recorded calls over all runs; later ones are made in every run. */
export const MAX_CALLS = 1000

/** The field names are stored: do not rename them. */
const callSchema = z.object({
  method: z.string(),
  /** Sequence number within its method over all runs. */
  part: z.number(),
  /** Hash of its content. */
  said: z.string(),
  /** Hash of its destination. */
  place: z.string().default(''),
  /** Ids of shared files. */
  files: z.array(z.string()),
  /**
   * Whether it may have taken effect. A refused call did not, but keeps its place in the sequence.
   */
  wasMade: z.boolean(),
  /** Whether its effect cannot be seen in Slack, and so not be checked if the answer is lost. */
  unseen: z.boolean(),
  /** Slack's answer, once it has arrived. */
  answer: z.string().exactOptional(),
})

/** A Slack call of repeatable work. */
export type Call = z.infer<typeof callSchema>

export type CallRecords = ReturnType<typeof createCallRecords>

/** The Slack calls of repeatable work, in the store, by the key of the work. */
export function createCallRecords({ kv, gateway }: Pick<TransportDeps, 'kv' | 'gateway'>) {
  const prefixOf = (key: string) => `slack/${gateway}/call/${hashOf(key)}/`

  return {
    /** The calls of all earlier runs, in order within each method. */
    async read(key: string): Promise<Call[]> {
      const names = await allKeys(kv, prefixOf(key))
      const entries = await Promise.all(names.map((name) => kv.get(name)))
      const calls = entries.flatMap((entry) => (entry ? callSchema.parse(entry.value) : []))
      return calls.sort((a, b) => a.part - b.part)
    },
    async keep(key: string, call: Call): Promise<void> {
      await kv.set(`${prefixOf(key)}${call.method}/${call.part}`, call, { ttl: RECORD_TTL_MS })
    },
  }
}
