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
 * Slack delivers again what was not acknowledged, but not for ever, and not to an app that was away. So the store knows
 * until when everything was taken. With each connection every known channel is read from there on, with a refused message
 * its channel, again and again until that succeeds. What was taken before is recognised by its key.
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
  /** The newest that came; by Slack's clock, which may be behind ours. */
  let newest = 0
  /** Until when everything had been taken at the last connection, and whether what is missing since is known. */
  let before = Number.POSITIVE_INFINITY
  let isLoaded = false

  /** Until when everything was taken. */
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

  /** Learns from the store what may be missing, and has it read: the last active channels first. Never rejects. */
  async function load(): Promise<void> {
    for (let failures = 1; !isLoaded && !stopping.signal.aborted; failures++) {
      try {
        const { known, untils } = await channels.load()
        const until = Math.min(before, ...untils)
        // A first daemon knows nothing.
        const since = Number.isFinite(until) ? until : 0
        for (const channel of known) void gaps.open(channel, since)
        newest = Math.max(newest, since)
        isLoaded = true
      } catch (error) {
        log.debug({ reason: reasonOf(error) }, 'how far Slack was read is not known yet')
        await pause(backoff(failures, BACKOFF), stopping.signal)
      }
    }
  }

  return {
    /** Goes through `take` unchanged; remembers where somebody wrote, and has read back what was refused. */
    async watch(delivery: Delivery, take: () => Promise<Taken>): Promise<Taken> {
      const written = writtenIn(delivery)
      if (!written) return take()
      try {
        const taken = await take()
        newest = Math.max(newest, written.first)
        const isNew = !channels.has(written)
        if (taken) channels.note(written)
        // After a crash nobody would know of a channel in which nobody had written before.
        if (taken && isNew) await channels.save()
        return taken
      } catch (error) {
        void gaps.open(channels.note(written), written.first - TICK, BACKOFF.first)
        throw error
      }
    },
    /** What is written from now on comes live; what was written before is read back. */
    connected(): void {
      if (isLoaded) before = whole()
      isLoaded = false
      void load()
    },
    /** For health: what is being read back; undefined where nothing is missing. */
    status: gaps.status,
    /** Keeps what is remembered. */
    async stop() {
      stopping.abort()
      await channels.save()
    },
  }
}
