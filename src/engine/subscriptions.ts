import { z } from 'zod'
import { allKeys } from '../core/all-keys.ts'
import { eventSchema } from '../core/event.ts'
import type { Store } from '../core/store.ts'

export const jobSchema = z.object({
  ref: z.string(),
  /** The subscriber. The skill runs with the rights they have at run time. */
  by: z.object({ kind: z.enum(['route', 'cli', 'http', 'mcp', 'code']), id: z.string().exactOptional() }),
  event: eventSchema,
})
export const subscriptionSchema = jobSchema
  .omit({ event: true })
  .extend({ topic: z.string(), group: z.string() })

const listedSchema = subscriptionSchema.extend({ since: z.number().exactOptional() })

/** A consumer group whose events invoke a skill. */
export type Subscription = z.infer<typeof subscriptionSchema>

/** One event for the skill of a subscription. */
export type SubscriptionJob = z.infer<typeof jobSchema>

export const PREFIX = 'trivium:subscription:'
/** Written with every change of a subscription, to notify all daemons on the store. */
export const CHANGED = 'trivium:subscriptions'

/** Subscriptions with a `ref`, kept in the store: they survive restarts and run on any daemon. */
export function createSubscriptions({ kv }: Pick<Store, 'kv'>, now: () => number) {
  const keyOf = ({ topic, group }: Pick<Subscription, 'topic' | 'group'>) => `${PREFIX}${topic}\n${group}`
  return {
    async add(subscription: Subscription): Promise<void> {
      // With the time, so that a recreated subscription differs from the old one.
      await kv.set(keyOf(subscription), { ...subscription, since: now() })
      await kv.set(CHANGED, now())
    },
    /** All subscriptions, each with its skill and its start (`since`, Unix ms). */
    async list() {
      const keys = await allKeys(kv, PREFIX)
      const found = await Promise.all(keys.map((key) => kv.get(key)))
      return found.flatMap((entry) => listedSchema.safeParse(entry?.value).data ?? [])
    },
    /** Removes a subscription; with `ref`, only if it matches. Returns whether there was one. */
    async remove(ref: string | undefined, named: Pick<Subscription, 'topic' | 'group'>): Promise<boolean> {
      const known = await kv.get(keyOf(named))
      if (!known || (ref !== undefined && subscriptionSchema.parse(known.value).ref !== ref)) return false
      await kv.delete(keyOf(named))
      await kv.set(CHANGED, now())
      return true
    },
  }
}
