import { reasonOf } from '../../../src/core/errors.ts'
import type { Json } from '../../../src/core/json.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'

/** How long (ms) the bot counts as part of a thread after it last posted or was mentioned there. */
const THREAD_KEPT = 90 * 86_400_000

/**
 * The threads in which the bot takes part, for `match: { thread: mine }`. In the store, because
 * another daemon may have posted there.
 */
export function createThreads({ kv, gateway, log }: TransportDeps, team: string) {
  const nameOf = (channel: string, thread: string) => `slack/${gateway}/thread/${team}/${channel}/${thread}`
  return {
    /** Never rejects, as the answer has already been sent. */
    async join(channel: string, thread: string | undefined): Promise<void> {
      const failed = (error: unknown) =>
        log.debug(
          { channel, thread, reason: reasonOf(error) },
          'that the bot takes part in a thread could not be stored',
        )
      if (thread !== undefined)
        await kv.set(nameOf(channel, thread), true, { ttl: THREAD_KEPT }).catch(failed)
    },
    has: async (channel: string, thread: string): Promise<boolean> =>
      (await kv.get(nameOf(channel, thread))) !== undefined,
    /** What the author of a thread is looking at: stores `told`, or returns the stored value. */
    async context(channel: string, thread: string, told: Json | undefined): Promise<Json | undefined> {
      const name = `${nameOf(channel, thread)}/context`
      if (told === undefined) return (await kv.get(name))?.value
      await kv.set(name, told, { ttl: THREAD_KEPT })
      return told
    },
  }
}
