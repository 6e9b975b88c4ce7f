import { reasonOf } from '../../../src/core/errors.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { backoff } from '../../../src/lib/backoff.ts'
import { pause } from '../../../src/lib/pause.ts'
import type { Acknowledgement, Delivery } from '../inbound/delivery.ts'
import type { SlackInbound } from '../inbound/inbound.ts'
import type { SlackOptions } from '../options.ts'
import type { Workspaces } from '../workspaces/workspaces.ts'
import { channelOf } from './channel.ts'
import { CHANNEL_TTL_MS, createChannels } from './channels.ts'
import { BACKOFF, createGaps } from './gaps.ts'
import { TICK } from './read-back.ts'

/**
 * Reads messages that were missed while the daemon was offline. Slack retries unacknowledged events
 * only for a while, and not for apps that were offline. The store therefore records the time up to
 * which all messages were received. After each connection, all known channels are read from that
 * time on; after a refused message, its channel is read. Failed reads are retried. Messages that
 * had already been received are deduplicated by key.
 */
export function createGapFill(
  options: SlackOptions,
  deps: TransportDeps,
  workspaces: Workspaces,
  inbound: Pick<SlackInbound, 'take'>,
) {
  if (options['fill-gaps'] === 'off') return undefined
  const { log } = deps
  const maxAge = Math.min(options['fill-gaps'], CHANNEL_TTL_MS)
  const stopping = new AbortController()
  /** The newest received message, by Slack's clock, which may be behind ours. */
  let newest = 0
  /** The `completeUntil` of the newest connection before which the gaps were loaded. */
  let completeAtConnect = Number.POSITIVE_INFINITY
  /** Whether the gaps since the last connection are known. */
  let isLoaded = false

  /** The time (Slack timestamp) up to which all messages were received. */
  const completeUntil = () => Math.min(newest, ...gaps.starts())
  const channels = createChannels(deps, maxAge, () => (isLoaded ? completeUntil() : undefined))
  const gaps = createGaps(deps, {
    workspaces,
    inbound,
    maxAge,
    remember: channels.remember,
    onFilled: channels.save,
    stopping: stopping.signal,
  })

  /** Loads and starts reading the gaps, most recently active channels first. Never rejects. */
  async function load(): Promise<void> {
    for (let failures = 1; !isLoaded && !stopping.signal.aborted; failures++) {
      try {
        const { known, untils } = await channels.load()
        const until = Math.min(completeAtConnect, ...untils)
        // Infinite for the first daemon, which has no known channels either.
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
    /** Calls `take`, and remembers the channel. If `take` rejects, reads the channel back. */
    async watch(delivery: Delivery, take: () => Promise<Acknowledgement>): Promise<Acknowledgement> {
      const channel = channelOf(delivery)
      if (!channel) return take()
      try {
        const taken = await take()
        newest = Math.max(newest, channel.first)
        const isNew = !channels.has(channel)
        if (taken) channels.remember(channel)
        // Stored immediately, because after a crash a new channel would be unknown.
        if (taken && isNew) await channels.save()
        return taken
      } catch (error) {
        void gaps.open(channels.remember(channel), channel.first - TICK, BACKOFF.first)
        throw error
      }
    },
    /** Called after each connection, which delivers later messages; reads earlier ones back. */
    connected(): void {
      if (isLoaded) completeAtConnect = completeUntil()
      isLoaded = false
      void load()
    },
    /** Describes the reading, for health; undefined if nothing is missing. */
    status: gaps.status,
    /** Stops reading, and stores the recorded channels. */
    async stop() {
      stopping.abort()
      await channels.save()
    },
  }
}
