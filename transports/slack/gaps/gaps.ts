import { TriviumError } from '../../../src/core/errors.ts'
import type { Log } from '../../../src/core/log.ts'
import type { Health, TransportDeps } from '../../../src/core/transport.ts'
import { DAY, formatDuration, MINUTE } from '../../../src/core/units.ts'
import { backoff } from '../../../src/lib/backoff.ts'
import { pause } from '../../../src/lib/pause.ts'
import { createTokenBucket } from '../../../src/lib/token-bucket.ts'
import { createTurns } from '../../../src/lib/turns.ts'
import { slackFailure } from '../api.ts'
import type { Delivery } from '../inbound/delivery.ts'
import type { SlackInbound } from '../inbound/inbound.ts'
import type { Workspaces } from '../workspaces/workspaces.ts'
import { type Channel, channelOf, type Gap } from './channel.ts'
import { createReadBack } from './read-back.ts'

/**
 * Less than half of the limit at https://docs.slack.dev/apis/web-api/rate-limits (tier 3, 50 calls
 * a minute), to leave calls for others.
 */
const CALLS = { count: 20, per: 50_000 }
export const BACKOFF = { first: 500, longest: 60_000 }
/** A channel that cannot be read for this time makes the gateway unhealthy. */
const UNHEALTHY_AFTER_MS = 5 * MINUTE
/** After this time, the channel is no longer retried. */
const GIVE_UP_AFTER_MS = DAY
/** Minimum pause after a rate limit. */
const MIN_LIMIT_MS = 1_000

/**
 * Channels in which messages may be missing. Each is read, with retries for a day. A channel that
 * Slack refuses to show is not retried.
 */
export function createGaps(
  { now, log }: Pick<TransportDeps, 'now' | 'log'>,
  deps: {
    workspaces: Workspaces
    inbound: Pick<SlackInbound, 'take'>
    /** Maximum age (ms) of messages that are read back. */
    maxAge: number
    /** Remembers the channel of an accepted message, as returned by `channelOf`. */
    remember(channel: Channel): void
    /** Called after a channel was read. */
    onFilled(): Promise<void>
    stopping: AbortSignal
  },
) {
  const { inbound, remember, stopping } = deps
  const gaps = new Set<Gap>()
  /** Gaps that are not being read yet. A gap found while its channel is read needs another read. */
  const waiting = new Map<Channel, Gap>()
  const pace = createPace(now, stopping)
  const readBack = createReadBack({ ...deps, pace, log })

  /**
   * Reads a gap and accepts its messages, outside the turns of `pace`: a message may wait for the
   * name of its sender or for a file, while other channels are read.
   */
  async function fill(gap: Gap): Promise<void> {
    // During this wait the gap is in `waiting`, so that `open` can move its start back to an older
    // message.
    await pace()
    waiting.delete(gap.channel)
    const { all, mentions, type } = gap.channel
    const takeOne = async (delivery: Delivery) => {
      try {
        const taken = await inbound.take(delivery)
        const channel = channelOf(delivery)
        if (taken && channel) remember({ ...channel, all, mentions, type })
      } catch (error) {
        if (!(error instanceof TriviumError) || error.retryable) throw error
        log.warn({ err: error }, 'a missed Slack message could not be accepted')
      }
    }
    await Promise.all((await readBack(gap)).map(takeOne))
  }

  return {
    /** The start of each gap (Slack timestamps). */
    starts: () => Array.from(gaps, ({ since }) => since),
    /**
     * Reads a channel after `wait` ms, once for all gaps found until then, with retries for a day.
     * Never rejects.
     */
    async open(channel: Channel, since: number, wait = 0): Promise<void> {
      const pending = waiting.get(channel)
      if (pending) {
        pending.since = Math.min(since, pending.since)
        return
      }
      const gap: Gap = { channel, since, openedAt: now(), failures: 0 }
      gaps.add(gap)
      let delay: number | undefined = wait
      while (delay !== undefined) {
        waiting.set(channel, gap)
        await pause(delay, stopping)
        // The gap stays recorded: the next daemon starts where it begins.
        if (stopping.aborted) return
        delay = await fill(gap).then(
          () => undefined,
          (error: unknown) => (stopping.aborted ? 0 : retryAfter(gap, error, now(), log)),
        )
      }
      gaps.delete(gap)
      await deps.onFilled()
    },
    /** Describes the reading, for health; undefined if nothing is missing. */
    status: () => statusOf(gaps, now()),
  }
}

/**
 * Creates the function that resolves when the next call is allowed, in the order of callers over
 * all channels. It rejects after a stop.
 */
function createPace(now: () => number, stopping: AbortSignal): () => Promise<void> {
  const nextCall = createTokenBucket(CALLS, now)
  const inTurn = createTurns()
  return () =>
    inTurn(async () => {
      for (let wait = nextCall(); wait > 0 && !stopping.aborted; wait = nextCall())
        await pause(wait, stopping)
      stopping.throwIfAborted()
    })
}

/** How long (ms) to wait before a failed channel is retried; undefined if it is given up. */
function retryAfter(gap: Gap, error: unknown, now: number, log: Log): number | undefined {
  const { kind, reason, seconds, isToken } = slackFailure(error)
  const { channel } = gap.channel
  // A rejected token may be replaced.
  const isRefused = kind === 'rejected' && !isToken
  if (isRefused || gap.openedAt < now - GIVE_UP_AFTER_MS) {
    log[isRefused ? 'debug' : 'error']({ channel, reason }, 'missed Slack messages cannot be read')
    return undefined
  }
  if (kind === 'rate-limited') return Math.max(MIN_LIMIT_MS, seconds * 1000)
  if (!gap.lastError) log.warn({ channel, reason }, 'missed Slack messages could not be read yet')
  gap.lastError = reason
  return backoff(++gap.failures, BACKOFF)
}

function statusOf(gaps: ReadonlySet<Gap>, now: number): Health | undefined {
  if (gaps.size === 0) return undefined
  const { size } = new Set(Array.from(gaps, ({ channel }) => channel))
  const detail = `catching up: ${size} ${size === 1 ? 'channel' : 'channels'}`
  const stuck = [...gaps].find(({ lastError, openedAt }) => lastError && now - openedAt > UNHEALTHY_AFTER_MS)
  if (!stuck) return { ok: true, detail }
  const time = formatDuration(now - stuck.openedAt)
  return { ok: false, detail: `${detail}, failing for ${time}: ${stuck.lastError}` }
}
