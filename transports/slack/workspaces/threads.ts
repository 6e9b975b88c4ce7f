import { reasonOf } from '../../../src/core/errors.ts'
import type { Json } from '../../../src/core/json.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { DAY } from '../../../src/core/units.ts'

/** How long the bot takes part in a thread after it last posted or was mentioned there. */
const THREAD_TTL_MS = 90 * DAY

/**
 * The threads in which the bot takes part, for `match: { thread: mine }`. In the store, because
 * another daemon may have posted there.
 */
export function createThreads({ kv, gateway, log }: TransportDeps, team: string) {
  const nameOf = (channel: string, thread: string) => `slack/${gateway}/thread/${team}/${channel}/${thread}`
  return {
    /**
     * Records that the bot takes part in a thread. Never rejects, because the answer has already
     * been sent.
     */
    async join(channel: string, thread: string | undefined): Promise<void> {
      const report = (error: unknown) =>
        log.debug({ channel, thread, reason: reasonOf(error) }, 'a thread with the bot could not be recorded')
      if (thread !== undefined)
        await kv.set(nameOf(channel, thread), true, { ttl: THREAD_TTL_MS }).catch(report)
    },
    has: async (channel: string, thread: string): Promise<boolean> =>
      (await kv.get(nameOf(channel, thread))) !== undefined,
    /**
     * Stores the context of a thread with an agent (what its author is looking at), or returns the
     * stored one.
     */
    async context(channel: string, thread: string, newest: Json | undefined): Promise<Json | undefined> {
      const name = `${nameOf(channel, thread)}/context`
      if (newest === undefined) return (await kv.get(name))?.value
      await kv.set(name, newest, { ttl: THREAD_TTL_MS })
      return newest
    },
  }
}
