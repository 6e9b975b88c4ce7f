import { randomUUID } from 'node:crypto'
import { reasonOf } from '../../src/core/errors.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { backoff } from '../../src/lib/backoff.ts'
import type { FillChannel } from './gap-channel.ts'
import { type Channel, KEPT, type Marks } from './gap-marks.ts'

/** Whose turn it is to be read back: one channel at a time of each workspace, and of no workspace after another. */
export type Rounds = {
  /** Goes on until nothing is open any more, or `mayRead` says no. */
  start(): void
  /** As `start` for a channel of which a message was refused: what refused it is not well yet. */
  startLater(channel: Channel): void
  /** Which channel has failed for the longest, since when (Unix ms), and why. */
  failing(): { since: number; reason: string } | undefined
}

export const BACKOFF = { first: 500, longest: 60_000 }
/** Slack or the store is away where this many channels fail that did not before: the others would too. */
const ENOUGH = 3
/** Channels that were spoken in so lately (ms) come first. */
export const LATELY = 3_600_000
/** Who reads the silent channels of a workspace: one daemon, or all would use up Slack's limits. */
const LEASE = { ttl: 120_000, again: 10_000 }
/** Some channel may never be readable. After this it is given up (ms), unless `fill-gaps` reaches further. */
const LONGEST = 86_400_000

/** What is known of a channel that could not be read, or not whole: not before `due` again (Unix ms). */
type Attempts = { count: number; due: number; failing?: { since: number; reason: string } }

export function createRounds(options: {
  marks: Marks
  fill: FillChannel
  mayRead(): boolean
  /** Resolves after so many ms, or earlier where something has changed. */
  wait(ms: number): Promise<void>
  /** Called when a workspace has nothing open any more. */
  settle(): Promise<void>
  reach: number
  deps: Pick<TransportDeps, 'leases' | 'gateway' | 'now' | 'log'>
}): Rounds {
  const { marks, fill, mayRead, wait, deps } = options
  const { leases, now, log } = deps
  const owner = randomUUID()
  const longest = Math.min(KEPT, Math.max(LONGEST, options.reach))
  const running = new Set<string>()
  const attempts = new WeakMap<Channel, Attempts>()
  let isWarned = false

  const start = () => {
    for (const team of new Set(marks.open().map((channel) => channel.team))) {
      if (!running.has(team) && mayRead()) void run(team)
    }
  }

  /** Never rejects. */
  const run = async (team: string) => {
    running.add(team)
    const lease = createTurn(team)
    const state: State = { troubles: 0, fresh: 0, failedLast: false, barredUntil: 0 }
    const step = async (): Promise<number | 'end'> => {
      await marks.persistGap()
      const open = withoutHopeless(openOf(team))
      if (open.length > 0) return readNext(open, state, lease)
      await options.settle()
      return openOf(team).length === 0 ? 'end' : 0
    }
    while (mayRead()) {
      let rest: number | 'end'
      try {
        rest = await step()
      } catch (error) {
        log.debug({ reason: reasonOf(error) }, 'the store is away while Slack is read back')
        rest = backoff(++state.troubles, BACKOFF)
      }
      if (rest === 'end') break
      if (rest > 0) await wait(rest)
    }
    running.delete(team)
    if (isWarned && mayRead() && marks.open().length === 0) {
      isWarned = false
      log.info({}, 'all that was missed in Slack was read')
    }
    await lease.release()
  }

  /** Resolves with how long the workspace is left alone then (ms). */
  const readNext = async (open: Channel[], state: State, lease: Turn): Promise<number> => {
    // Whatever wakes us meanwhile, the workspace is left alone.
    if (state.barredUntil > now()) return state.barredUntil - now()
    const ready = open.filter((channel) => (attempts.get(channel)?.due ?? 0) <= now())
    const channel = await choose(ready, state, lease)
    if (!channel) {
      const due = open.map((each) => attempts.get(each)?.due ?? 0).filter((at) => at > now())
      const next = Math.min(...due) - now()
      return ready.length === 0 ? next : Math.min(LEASE.again, next)
    }
    const before = attempts.get(channel)
    const turn = await fill(channel)
    if (turn.end === 'barred') {
      warn(turn.reason)
      return bar(state, turn.wait)
    }
    state.failedLast = turn.end !== 'done'
    if (turn.end === 'done') {
      if (channel.open === undefined) attempts.delete(channel)
      else attempts.set(channel, { count: 0, due: now() + BACKOFF.first })
      state.troubles = 0
      state.fresh = 0
      return 0
    }
    const count = (before?.count ?? 0) + 1
    if (turn.end === 'late') {
      attempts.set(channel, { count, due: now() + backoff(count + 1, BACKOFF) })
      return 0
    }
    warn(turn.reason)
    const failing = { since: before?.failing?.since ?? now(), reason: turn.reason }
    attempts.set(channel, { count, due: now() + backoff(count, BACKOFF), failing })
    // Of one that failed before it is known.
    if (!before?.failing) state.fresh++
    if (state.fresh < ENOUGH) return 0
    state.fresh = 0
    return bar(state, backoff(++state.troubles, BACKOFF))
  }

  const bar = (state: State, ms: number): number => {
    state.barredUntil = now() + ms
    return ms
  }

  /**
   * Those that were spoken in lately come first, for others one daemon has the turn. One that could not be read takes
   * turns with those that nobody tried yet: neither may keep the other waiting.
   */
  const choose = async (ready: Channel[], state: State, lease: Turn): Promise<Channel | undefined> => {
    const isPressing = (channel: Channel) => channel.urgent || channel.newest * 1000 > now() - LATELY
    const tried = ready.filter((channel) => attempts.has(channel))
    const untried = ready.filter((channel) => !attempts.has(channel))
    const first = untried.find(isPressing)
    if (first) return first
    const inOrder = state.failedLast ? [...untried, ...tried] : [...tried, ...untried]
    const [next] = inOrder
    if (!next || isPressing(next) || (await lease.take())) return next
    return inOrder.find(isPressing)
  }

  const withoutHopeless = (open: Channel[]): Channel[] => {
    const isHopeless = (channel: Channel) => (channel.open ?? now()) < now() - longest
    const hopeless = open.filter(isHopeless)
    for (const channel of hopeless) {
      attempts.delete(channel)
      marks.close(channel, 0)
    }
    if (hopeless.length > 0) {
      log.error({ channels: hopeless.length }, 'what was missed in Slack is too long ago to be read')
    }
    return open.filter((channel) => !hopeless.includes(channel))
  }

  const createTurn = (team: string): Turn => {
    const name = `slack/${deps.gateway}/fill/${team}`
    let isHeld = false
    return {
      async take() {
        isHeld = (await leases.acquire(name, owner, LEASE.ttl)) !== undefined
        return isHeld
      },
      async release() {
        if (!isHeld) return
        // Where the store is away it runs out by itself.
        await leases.release(name, owner).catch((error: unknown) => {
          log.debug({ lease: name, reason: reasonOf(error) }, 'a lease was not given back')
        })
      },
    }
  }

  const warn = (reason: string) => {
    if (isWarned || !mayRead()) return
    isWarned = true
    log.warn({ reason }, 'what was missed in Slack could not be read; trying again until it can')
  }
  const openOf = (team: string) => marks.open().filter((channel) => channel.team === team)

  return {
    start,
    startLater(channel) {
      if (!attempts.has(channel)) attempts.set(channel, { count: 0, due: now() + BACKOFF.first })
      start()
    },
    failing() {
      const all = marks.open().flatMap((channel) => attempts.get(channel)?.failing ?? [])
      return all.toSorted((a, b) => a.since - b.since)[0]
    },
  }
}

/**
 * How a workspace fares: how often in a row nothing could be read of it, how many channels failed in a row, and until
 * when Slack is not asked (Unix ms).
 */
type State = { troubles: number; fresh: number; failedLast: boolean; barredUntil: number }

type Turn = { take(): Promise<boolean>; release(): Promise<void> }
