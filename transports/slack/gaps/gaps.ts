import { TriviumError } from '../../../src/core/errors.ts'
import type { Log } from '../../../src/core/log.ts'
import type { Health, TransportDeps } from '../../../src/core/transport.ts'
import { formatDuration } from '../../../src/core/units.ts'
import { backoff } from '../../../src/lib/backoff.ts'
import { pause } from '../../../src/lib/pause.ts'
import { createTokenBucket } from '../../../src/lib/token-bucket.ts'
import { createTurns } from '../../../src/lib/turns.ts'
import { slackFailure } from '../api.ts'
import type { Delivery } from '../inbound/delivery.ts'
import type { SlackInbound } from '../inbound/inbound.ts'
import type { Workspaces } from '../workspaces/workspaces.ts'
import { type Channel, type Gap, writtenIn } from './channel.ts'
import { createReadBack } from './read-back.ts'

/** Half of https://docs.slack.dev/apis/web-api/rate-limits: tier 3, 50 calls a minute. The rest is left to others. */
const CALLS = { count: 20, per: 50_000 }
export const BACKOFF = { first: 500, longest: 60_000 }
/** A channel that cannot be read for so long (ms) makes the gateway red; after a day it is given up. */
const STUCK = 300_000
const LONGEST = 86_400_000

/** Channels in which something may be missing: each is read, again and again until that succeeds. */
export function createGaps(
  { now, log }: Pick<TransportDeps, 'now' | 'log'>,
  deps: {
    workspaces: Workspaces
    inbound: Pick<SlackInbound, 'take'>
    reach: number
    /** Remembers that somebody wrote in a channel. */
    note(written: Channel): void
    /** Called once a channel was read. */
    filled(): Promise<void>
    stopping: AbortSignal
  },
) {
  const { inbound, note, stopping } = deps
  const gaps = new Set<Gap>()
  /** Those that are not being read yet; what is missed in a channel that is needs another reading. */
  const waiting = new Map<Channel, Gap>()
  const nextCall = createTokenBucket(CALLS, now)
  const inTurn = createTurns()

  /** Resolves when the next call may be made, for all channels in the order in which they ask. */
  const pace = () =>
    inTurn(async () => {
      for (let wait = nextCall(); wait > 0 && !stopping.aborted; wait = nextCall())
        await pause(wait, stopping)
      stopping.throwIfAborted()
    })
  const readBack = createReadBack({ ...deps, pace, log })

  /** Takes what was missed; what waits for a name or a file holds up no other. */
  async function fill(gap: Gap): Promise<undefined> {
    // What is refused before its turn comes may be older than what it was opened for.
    await pace()
    waiting.delete(gap.channel)
    const { all, mentions } = gap.channel
    const takeOne = async (delivery: Delivery) => {
      try {
        const taken = await inbound.take(delivery)
        const written = writtenIn(delivery)
        if (taken && written) note({ ...written, all, mentions })
      } catch (error) {
        if (!(error instanceof TriviumError) || error.retryable) throw error
        log.warn({ err: error }, 'a message of Slack that was missed cannot be taken')
      }
    }
    await Promise.all((await readBack(gap)).map(takeOne))
  }

  return {
    /** Since when something may be missing (Slack's seconds), of each channel. */
    starts: () => Array.from(gaps, ({ since }) => since),
    /** Has a channel read after `wait` ms, once for all that is missed until then. Never rejects. */
    async open(channel: Channel, since: number, wait = 0): Promise<void> {
      const pending = waiting.get(channel)
      if (pending) return void Object.assign(pending, { since: Math.min(since, pending.since) })
      const gap: Gap = { channel, since, opened: now(), failures: 0 }
      gaps.add(gap)
      for (let rest: number | undefined = wait; rest !== undefined; ) {
        waiting.set(channel, gap)
        await pause(rest, stopping)
        // What was taken until the stop is all that the next daemon has to know.
        if (stopping.aborted) return
        rest = await fill(gap).catch((error: unknown) =>
          stopping.aborted ? 0 : retryAfter(gap, error, now(), log),
        )
      }
      gaps.delete(gap)
      await deps.filled()
    },
    /** For health: what is being read back; undefined where nothing is missing. */
    status: () => statusOf(gaps, now()),
  }
}

/** In how many ms a channel that could not be read is tried again; undefined: never. */
function retryAfter(gap: Gap, error: unknown, now: number, log: Log): number | undefined {
  const { kind, reason, seconds, isToken } = slackFailure(error)
  const { channel } = gap.channel
  // A token that Slack does not accept may be mended.
  const isRefused = kind === 'rejected' && !isToken
  if (isRefused || gap.opened < now - LONGEST) {
    log[isRefused ? 'debug' : 'error']({ channel, reason }, 'what was missed in Slack cannot be read')
    return undefined
  }
  if (kind === 'rate-limited') return Math.max(1000, seconds * 1000)
  if (!gap.failing) log.warn({ channel, reason }, 'what was missed in Slack could not be read yet')
  gap.failing = reason
  return backoff(++gap.failures, BACKOFF)
}

function statusOf(gaps: ReadonlySet<Gap>, now: number): Health | undefined {
  if (gaps.size === 0) return undefined
  const { size } = new Set(Array.from(gaps, ({ channel }) => channel))
  const detail = `catching up: ${size} ${size === 1 ? 'channel' : 'channels'}`
  const stuck = [...gaps].find(({ failing, opened }) => failing && now - opened > STUCK)
  if (!stuck) return { ok: true, detail }
  const since = formatDuration(now - stuck.opened)
  return { ok: false, detail: `${detail}, failing for ${since}: ${stuck.failing}` }
}
