import { reasonOf } from '../../src/core/errors.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { putLast } from '../../src/lib/put-last.ts'

/** For so long the bot is in a thread after it last spoke or was called there (ms). */
const KEPT = 90 * 86_400_000
const LIMIT = 5000

export type Threads = ReturnType<typeof createThreads>

/** The threads that the bot is in, for `match: { thread: mine }`: on the store, as another daemon may have spoken there. */
export function createThreads(
  { kv, gateway, log }: Pick<TransportDeps, 'kv' | 'gateway' | 'log'>,
  team: string,
) {
  const known = new Map<string, true>()
  const nameOf = (channel: string, thread: string) => `slack/${gateway}/thread/${team}/${channel}/${thread}`
  return {
    /** Never rejects: an answer that was sent counts as sent. */
    async join(channel: string, thread: string | undefined): Promise<void> {
      const name = thread === undefined ? '' : nameOf(channel, thread)
      if (thread === undefined || known.has(name)) return
      putLast(known, name, true, LIMIT)
      try {
        await kv.set(name, true, { ttl: KEPT })
      } catch (error) {
        known.delete(name)
        log.debug({ name, reason: reasonOf(error) }, 'that the bot is in a thread could not be kept')
      }
    },
    has: async (channel: string, thread: string): Promise<boolean> =>
      known.has(nameOf(channel, thread)) || (await kv.get(nameOf(channel, thread))) !== undefined,
  }
}
