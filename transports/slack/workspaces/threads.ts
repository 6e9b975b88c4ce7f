import { reasonOf } from '../../../src/core/errors.ts'
import type { Json } from '../../../src/core/json.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'

/** For so long the bot is in a thread after it last spoke or was called there (ms). */
const THREAD_KEPT = 90 * 86_400_000

/** The threads that the bot is in, for `match: { thread: mine }`: on the store, as another daemon may have spoken there. */
export function createThreads({ kv, gateway, log }: TransportDeps, team: string) {
  const nameOf = (channel: string, thread: string) => `slack/${gateway}/thread/${team}/${channel}/${thread}`
  return {
    /** Never rejects: an answer that was sent counts as sent. */
    async join(channel: string, thread: string | undefined): Promise<void> {
      const failed = (error: unknown) =>
        log.debug({ channel, thread, reason: reasonOf(error) }, 'that the bot is there could not be kept')
      if (thread !== undefined)
        await kv.set(nameOf(channel, thread), true, { ttl: THREAD_KEPT }).catch(failed)
    },
    has: async (channel: string, thread: string): Promise<boolean> =>
      (await kv.get(nameOf(channel, thread))) !== undefined,
    /** What who writes there looks at: as is `told`, which is kept, or was before. */
    async context(channel: string, thread: string, told: Json | undefined): Promise<Json | undefined> {
      const name = `${nameOf(channel, thread)}/context`
      if (told === undefined) return (await kv.get(name))?.value
      await kv.set(name, told, { ttl: THREAD_KEPT })
      return told
    },
  }
}
