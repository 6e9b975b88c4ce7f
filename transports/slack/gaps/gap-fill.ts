import { reasonOf } from '../../../src/core/errors.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { backoff } from '../../../src/lib/backoff.ts'
import { pause } from '../../../src/lib/pause.ts'
import type { Delivery, Taken } from '../inbound/delivery.ts'
import type { SlackInbound } from '../inbound/inbound.ts'
import type { SlackOptions } from '../options.ts'
import type { Workspaces } from '../workspaces/workspaces.ts'
import { writtenIn } from './channel.ts'
import { createChannels, KEPT } from './channels.ts'
import { BACKOFF, createGaps } from './gaps.ts'
import { TICK } from './read-back.ts'

/**
 * Finds messages missed while the daemon was away. Slack retries unacknowledged events only for a
 * while, and not for apps that were offline. The store therefore records the time up to which all
 * messages were received. After each connection, all known channels are read from that time on;
 * after a refused message, its channel is read. Failed reads are retried. Messages that had already
 * been received are deduplicated by key.
 */
export function createGapFill(
  options: SlackOptions,
  deps: TransportDeps,
  workspaces: Workspaces,
  inbound: Pick<SlackInbound, 'take'>,
) {
  if (options['fill-gaps'] === 'off') return undefined
  const { log } = deps
  const reach = Math.min(options['fill-gaps'], KEPT)
  const stopping = new AbortController()
  /** The newest received message, by Slack's clock, which may be behind ours. */
  let newest = 0
  /** What `whole` was at the last connection, and whether the gaps since are known. */
  let before = Number.POSITIVE_INFINITY
  let isLoaded = false

  /** The time up to which all messages were received. */
  const whole = () => Math.min(newest, ...gaps.starts())
  const channels = createChannels(deps, reach, () => (isLoaded ? whole() : undefined))
  const gaps = createGaps(deps, {
    workspaces,
    inbound,
    reach,
    note: channels.note,
    filled: channels.save,
    stopping: stopping.signal,
  })

  /** Loads gaps from the store and has them read, most recently active channels first. Never rejects. */
  async function load(): Promise<void> {
    for (let failures = 1; !isLoaded && !stopping.signal.aborted; failures++) {
      try {
        const { known, untils } = await channels.load()
        const until = Math.min(before, ...untils)
        // A first daemon has no gaps.
        const since = Number.isFinite(until) ? until : 0
        for (const channel of known) void gaps.open(channel, since)
        newest = Math.max(newest, since)
        isLoaded = true
      } catch (error) {
        log.debug({ reason: reasonOf(error) }, 'the position up to which Slack was read is not known yet')
        await pause(backoff(failures, BACKOFF), stopping.signal)
      }
    }
  }

  return {
    /** Returns the result of `take`. Records the channel; has it read back after a refusal. */
    async watch(delivery: Delivery, take: () => Promise<Taken>): Promise<Taken> {
      const written = writtenIn(delivery)
      if (!written) return take()
      try {
        const taken = await take()
        newest = Math.max(newest, written.first)
        const isNew = !channels.has(written)
        if (taken) channels.note(written)
        // Stored immediately, because after a crash a new channel would be unknown.
        if (taken && isNew) await channels.save()
        return taken
      } catch (error) {
        void gaps.open(channels.note(written), written.first - TICK, BACKOFF.first)
        throw error
      }
    },
    /** Later messages arrive live; earlier ones are read back. */
    connected(): void {
      if (isLoaded) before = whole()
      isLoaded = false
      void load()
    },
    /** What is being read back, for health; undefined if nothing is missing. */
    status: gaps.status,
    /** Stores what is remembered. */
    async stop() {
      stopping.abort()
      await channels.save()
    },
  }
}
