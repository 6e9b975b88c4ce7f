import { reasonOf, TriviumError } from '../../src/core/errors.ts'
import { type JsonObject, textAt } from '../../src/core/json.ts'
import type { Health, TransportDeps } from '../../src/core/transport.ts'
import { formatDuration } from '../../src/core/units.ts'
import { backoff } from '../../src/lib/backoff.ts'
import { pause } from '../../src/lib/pause.ts'
import { createTokenBucket } from '../../src/lib/token-bucket.ts'
import { readHistory, slackFailure } from './api.ts'
import { type Channel, createGapMemory, KEPT, writtenIn } from './gap-memory.ts'
import type { Taken } from './inbound/answers.ts'
import type { Delivery } from './inbound/delivery.ts'
import type { SlackInbound } from './inbound/inbound.ts'
import type { SlackOptions } from './options.ts'
import type { Workspace, Workspaces } from './workspaces.ts'

/** Slack may deliver late and in another order, and its clock may differ from ours: so much is read again (s). */
const OVERLAP = 60
/** Half of https://docs.slack.dev/apis/web-api/rate-limits: tier 3, 50 calls a minute. The rest is left to others. */
const CALLS = { count: 20, per: 50_000 }
const BACKOFF = { first: 500, longest: 60_000 }
/** The least difference between two timestamps of Slack. */
const TICK = 1e-6
const MAX_MESSAGES = 500
const MAX_THREADS = 50
/** A remembered thread that was silent for longer is not asked for, nor is its root looked for further back (s). */
const ACTIVE = 86_400
/** Later than any message, however far Slack's clock and ours differ (s). */
const FUTURE = 30 * 86_400
/** A channel that cannot be read for so long (ms) makes the gateway red; after a day it is given up. */
const STUCK = 300_000
const LONGEST = 86_400_000

/** Something may be missing in a channel. */
type Gap = {
  /** Everything before was taken (Slack's seconds). */
  since: number
  /** Since when the gap can be read (Unix ms): from here is counted how far back `fill-gaps` reaches. */
  opened: number
  /** It is being read: what is missed from now on needs another reading. */
  isBegun: boolean
  /** Why the last attempt failed. */
  failing?: string
}

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
  const { now, log } = deps
  if (options['fill-gaps'] === 'off') return undefined
  const reach = Math.min(options['fill-gaps'], KEPT)
  const gaps = new Map<Channel, Gap>()
  const nextCall = createTokenBucket(CALLS, now)
  const stopping = new AbortController()
  /** The newest that came; by Slack's clock, which may be behind ours. */
  let newest = 0
  /** Until when everything had been taken at the last connection, and whether what is missing since is known. */
  let before = Number.POSITIVE_INFINITY
  let isLoaded = false
  let lastCall = Promise.resolve()

  /** Until when everything was taken; undefined while that is not known. */
  const whole = () =>
    isLoaded ? Math.min(newest, ...Array.from(gaps.values(), ({ since }) => since)) : undefined
  const memory = createGapMemory(deps, whole, reach)

  /** Learns from the store what may be missing, and has it read: the last active channels first. Never rejects. */
  async function load(): Promise<void> {
    for (let failures = 1; !isLoaded && !stopping.signal.aborted; failures++) {
      try {
        const { channels, others } = await memory.load()
        const since = Math.min(before, others)
        for (const channel of channels) open(channel, Number.isFinite(since) ? since : 0)
        newest = Math.max(newest, Number.isFinite(since) ? since : 0)
        isLoaded = true
      } catch (error) {
        log.debug({ reason: reasonOf(error) }, 'how far Slack was read is not known yet')
        await pause(backoff(failures, BACKOFF), stopping.signal)
      }
    }
  }

  function open(channel: Channel, from: number, wait = 0): void {
    const known = gaps.get(channel)
    const since = Math.min(from, known?.since ?? from)
    if (known?.isBegun === false) known.since = since
    else void fill(channel, { opened: now(), ...known, since, isBegun: false }, wait)
  }

  /** Reads a channel after `wait` ms, again and again until all that stood there was taken. Never rejects. */
  async function fill(channel: Channel, gap: Gap, wait: number): Promise<void> {
    const workspace = workspaces.find(channel.team)
    if (!workspace) return
    gaps.set(channel, gap)
    const isOver = () => stopping.signal.aborted || gaps.get(channel) !== gap
    for (let failures = 1, next: number | undefined = wait; next !== undefined; failures++) {
      await pause(next, stopping.signal)
      try {
        const missed = await readBack(channel, gap, workspace)
        // One that waits for a name or a file holds up no other.
        await Promise.all(missed.map((event) => takeOne(channel, event, workspace)))
        next = undefined
      } catch (error) {
        if (isOver()) return
        gap.isBegun = false
        next = retryAfter(channel, gap, error, failures)
      }
    }
    if (isOver()) return
    gaps.delete(channel)
    await memory.save()
  }

  /** What was written in a channel and its threads since the gap began, as events, in order. */
  async function readBack(channel: Channel, gap: Gap, { api, botUser }: Workspace): Promise<JsonObject[]> {
    const { channel: id, all, first } = channel
    const from = Math.max(gap.since - OVERLAP, first - TICK, (gap.opened - reach) / 1000)
    const active = Object.keys(channel.active).filter((root) => Number(channel.active[root]) > from - ACTIVE)
    // The history goes back to the threads that may have gone on: it tells which of them did.
    const near = active.map(Number).filter((root) => root > from - ACTIVE)
    const oldest = (Math.min(from, ...near) - TICK).toFixed(6)
    // Without an end Slack may give what is closest to `oldest` first, and what was missed last.
    const range = { channel: id, oldest, latest: (from + FUTURE).toFixed(6) }
    const history = await readHistory(api, range, MAX_MESSAGES, async () => {
      await pace()
      gap.isBegun = true
    })
    const found = new Map(history.messages.map((message) => [textAt(message, 'ts') ?? '', message]))
    const answered = [...found].filter(([, root]) => Number(root.latest_reply ?? 0) > from).map(([ts]) => ts)
    const roots = [...answered, ...active.filter((root) => !found.has(root)).reverse()]
    let isCut = roots.length > MAX_THREADS || (history.isCut && Number(history.messages.at(-1)?.ts) > from)
    for (const ts of roots.slice(0, MAX_THREADS)) {
      try {
        const query = { channel: id, ts, oldest: from.toFixed(6) }
        const thread = await readHistory(api, query, MAX_MESSAGES, pace)
        for (const message of thread.messages) found.set(textAt(message, 'ts') ?? '', message)
        isCut ||= thread.isCut
      } catch (error) {
        if (slackFailure(error).code !== 'thread_not_found') throw error
        // Its root was deleted, and all of it with that.
        delete channel.active[ts]
      }
    }
    if (isCut) log.warn({ channel: id }, 'more was missed in Slack than is read back')
    const mention = new RegExp(`<@${botUser}[|>]`)
    return (
      [...found.values()]
        .filter(({ ts, text }) => Number(ts) > from && (all || mention.test(String(text))))
        .sort((a, b) => Number(a.ts) - Number(b.ts))
        // History does not say where it is of; the events that Slack delivers do.
        .map((message) => ({ ...message, type: 'message', channel: id }))
    )
  }

  async function takeOne({ team, all }: Channel, event: JsonObject, workspace: Workspace): Promise<void> {
    const payload = { type: 'event_callback', team_id: team, event }
    const delivery: Delivery = { kind: 'event', payload, workspace, retry: 0 }
    try {
      const taken = await inbound.take(delivery)
      const written = writtenIn(delivery)
      if (taken && written) memory.note({ ...written, all })
    } catch (error) {
      if (!(error instanceof TriviumError) || error.retryable) throw error
      log.warn({ err: error }, 'a message of Slack that was missed cannot be taken')
    }
  }

  /** In how many ms a channel that could not be read is tried again; undefined: never. */
  function retryAfter({ channel }: Channel, gap: Gap, error: unknown, failures: number): number | undefined {
    const { kind, reason, seconds, isToken } = slackFailure(error)
    // A token that Slack does not accept may be mended.
    const isRefused = kind === 'rejected' && !isToken
    if (isRefused || gap.opened < now() - LONGEST) {
      log[isRefused ? 'debug' : 'error']({ channel, reason }, 'what was missed in Slack cannot be read')
      return undefined
    }
    if (kind === 'rate-limited') return Math.max(1000, seconds * 1000)
    if (!gap.failing) log.warn({ channel, reason }, 'what was missed in Slack could not be read yet')
    gap.failing = reason
    return backoff(failures, BACKOFF)
  }

  /** Resolves when the next call may be made, for all channels in the order in which they ask. */
  function pace(): Promise<void> {
    lastCall = lastCall.then(async () => {
      for (let wait = nextCall(); wait > 0; wait = nextCall()) await pause(wait, stopping.signal)
      stopping.signal.throwIfAborted()
    })
    return lastCall
  }

  return {
    /** Goes through `take` unchanged; remembers where somebody wrote, and has read back what was refused. */
    async watch(delivery: Delivery, take: () => Promise<Taken>): Promise<Taken> {
      const written = writtenIn(delivery)
      if (!written) return take()
      try {
        const taken = await take()
        newest = Math.max(newest, written.ts)
        // After a crash nobody would know of a channel in which nobody had written before.
        if (taken && memory.note(written).isNew) await memory.save()
        return taken
      } catch (error) {
        open(memory.note(written).channel, written.ts - TICK, BACKOFF.first)
        throw error
      }
    },
    /** What is written from now on comes live; what was written before is read back. */
    connected(): void {
      before = whole() ?? before
      isLoaded = false
      void load()
    },
    /** For health: what is being read back; undefined where nothing is missing. */
    status(): Health | undefined {
      if (gaps.size === 0) return undefined
      const detail = `catching up: ${gaps.size} ${gaps.size === 1 ? 'channel' : 'channels'}`
      const stuck = [...gaps.values()].find(({ failing, opened }) => failing && now() - opened > STUCK)
      if (!stuck) return { ok: true, detail }
      const since = formatDuration(now() - stuck.opened)
      return { ok: false, detail: `${detail}, failing for ${since}: ${stuck.failing}` }
    },
    /** Keeps what is remembered. */
    async stop() {
      stopping.abort()
      await memory.save()
    },
  }
}
