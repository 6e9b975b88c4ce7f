import { reasonOf, TriviumError } from '../../src/core/errors.ts'
import type { JsonObject } from '../../src/core/json.ts'
import type { Health, TransportDeps } from '../../src/core/transport.ts'
import { formatDuration } from '../../src/core/units.ts'
import { backoff } from '../../src/lib/backoff.ts'
import { pause } from '../../src/lib/pause.ts'
import { createTokenBucket } from '../../src/lib/token-bucket.ts'
import { slackFailure, tokenFault } from './failure.ts'
import { objectAt, textAt } from './fields.ts'
import { type Channel, createGapMemory, KEPT, lastActive, type Written } from './gap-memory.ts'
import { readBack, TICK } from './history.ts'
import type { Taken } from './inbound/answers.ts'
import type { Delivery } from './inbound/delivery.ts'
import type { SlackInbound } from './inbound/inbound.ts'
import type { SlackOptions } from './options.ts'
import type { Workspace, Workspaces } from './workspaces.ts'

/**
 * Slack may deliver late and in another order, and its clock may differ from ours: so much is read again (s). What
 * is known is recognised by its key.
 */
const OVERLAP = 60
/** Half of https://docs.slack.dev/apis/web-api/rate-limits: tier 3, 50 calls a minute. The rest is left to others. */
const CALLS = { count: 20, per: 50_000 }
const BACKOFF = { first: 500, longest: 60_000 }
/** A token that Slack does not accept may be mended (ms). */
const TOKEN = 60_000
/** How soon is looked whether there is something to read (ms). */
const LOOK = 500
/** A channel that cannot be read for so long (ms) makes the gateway red; after a day it is given up. */
const STUCK = 300_000
const LONGEST = 86_400_000

/** A channel in which something may be missing. */
type Gap = {
  /** Everything before was taken (Slack's seconds). */
  since: number
  /** Since when the gap can be read (Unix ms): from here is counted how far back `fill-gaps` reaches. */
  opened: number
  /** Not read again before (Unix ms), after so many attempts. */
  due: number
  attempts: number
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
  const memory = createGapMemory(deps, wholeUntil, reach)
  const gaps = new Map<Channel, Gap>()
  const underWay = new Set<Written>()
  const nextCall = createTokenBucket(CALLS, now)
  let isReading = false
  const stopping = new AbortController()
  /** Until when everything was taken, and the newest that came live; by Slack's clock, which may be behind ours. */
  let whole: number | undefined
  let newest = 0
  /** What the store knows is not known since the last connection. */
  let isNew = true

  function wholeUntil(): number | undefined {
    if (isNew || whole === undefined || gaps.size > 0) return whole
    let until = newest
    for (const { ts } of underWay) until = Math.min(until, ts - TICK)
    whole = Math.max(whole, until)
    return whole
  }

  /** Never rejects. */
  async function load(): Promise<void> {
    try {
      const others = await memory.load()
      const since = Math.min(whole ?? others, others)
      whole = Number.isFinite(since) ? since : 0
      for (const channel of memory.channels()) open(channel, whole, now())
      isNew = false
    } catch (error) {
      log.debug({ reason: reasonOf(error) }, 'how far Slack was read is not known yet')
      await pause(LOOK, stopping.signal)
    }
  }

  function open(channel: Channel, since: number, due: number) {
    const gap = gaps.get(channel) ?? { since, opened: now(), due, attempts: 0 }
    // Another object: a reading that has begun is no longer enough.
    gaps.set(channel, { ...gap, since: Math.min(gap.since, since), due: Math.min(gap.due, due) })
    // What is refused may be older than what was taken meanwhile.
    if (whole !== undefined) whole = Math.min(whole, since)
  }

  /** Asks the store what may be missing, then reads one channel after another until nothing is. Never rejects. */
  async function read(): Promise<void> {
    if (isReading) return
    isReading = true
    while (!stopping.signal.aborted && (isNew || gaps.size > 0)) {
      const ready = [...gaps].filter(([, { due }]) => due <= now())
      const [next] = ready.sort(([a], [b]) => lastActive(b) - lastActive(a))
      if (isNew) await load()
      else await (next ? fill(...next) : pause(LOOK, stopping.signal))
    }
    isReading = false
    await memory.save()
  }

  /** Resolves when a channel was read; what stood there is taken beside that. Never rejects. */
  async function fill(channel: Channel, gap: Gap): Promise<void> {
    const { team, channel: id, first } = channel
    const workspace = workspaces.find(team)
    const isHopeless = gap.opened < now() - LONGEST
    if (isHopeless) log.error({ channel: id }, 'what was missed in Slack is too long ago to be read')
    if (!workspace || isHopeless) return void gaps.delete(channel)
    const from = Math.max(gap.since - OVERLAP, first - TICK, (gap.opened - reach) / 1000)
    const reading = readBack(channel, from, workspace, { pace, log })
    // One that waits for a name or a file holds up no other channel.
    gap.due = Number.POSITIVE_INFINITY
    void takeAll(channel, gap, workspace, reading)
    await reading.catch(() => undefined)
  }

  /** Never rejects. */
  async function takeAll(
    channel: Channel,
    gap: Gap,
    workspace: Workspace,
    reading: Promise<JsonObject[]>,
  ): Promise<void> {
    const takeOne = async (event: JsonObject) => {
      const payload = { type: 'event_callback', team_id: channel.team, event }
      const delivery: Delivery = { kind: 'event', payload, workspace, retry: 0 }
      try {
        const taken = await inbound.take(delivery)
        const written = writtenIn(delivery)
        if (taken && written) memory.note({ ...written, all: channel.all })
      } catch (error) {
        if (!(error instanceof TriviumError) || error.retryable) throw error
        log.warn({ err: error }, 'a message of Slack that was missed cannot be taken')
      }
    }
    try {
      await Promise.all((await reading).map(takeOne))
      delete gap.failing
      if (gaps.get(channel) === gap) gaps.delete(channel)
      await memory.save()
    } catch (error) {
      failed(channel, gap, error)
    }
  }

  function failed(channel: Channel, gap: Gap, error: unknown) {
    if (stopping.signal.aborted) return
    const { team, channel: id } = channel
    const { kind, reason, seconds } = slackFailure(error)
    const wait = tokenFault(error) === undefined ? seconds * 1000 : TOKEN
    if (wait > 0) {
      gap.due = now() + wait
      for (const [other, each] of gaps) if (other.team === team) each.due = Math.max(each.due, gap.due)
      return
    }
    if (kind === 'rejected') {
      log.debug({ channel: id, reason }, 'a channel of Slack cannot be read')
      return void gaps.delete(channel)
    }
    if (!gap.failing) log.warn({ channel: id, reason }, 'what was missed in Slack could not be read yet')
    gap.failing = reason
    gap.due = now() + backoff(++gap.attempts, BACKOFF)
  }

  async function pace(): Promise<void> {
    for (let wait = nextCall(); wait > 0; wait = nextCall()) await pause(wait, stopping.signal)
    stopping.signal.throwIfAborted()
  }

  return {
    /** Goes through `take` unchanged; remembers where somebody wrote, and has read back what was refused. */
    async watch(delivery: Delivery, take: () => Promise<Taken>): Promise<Taken> {
      const written = writtenIn(delivery)
      if (!written) return take()
      underWay.add(written)
      try {
        const taken = await take()
        newest = Math.max(newest, written.ts)
        // After a crash nobody would know of a channel in which nobody had written before.
        if (taken && !memory.isStored(memory.note(written))) await memory.save()
        return taken
      } catch (error) {
        open(memory.note(written), written.ts - TICK, now() + BACKOFF.first)
        void read()
        throw error
      } finally {
        underWay.delete(written)
      }
    },
    /** What is written from now on comes live; what was written before is read back. */
    connected(): void {
      // What came before, and nothing after, is known to have been taken.
      wholeUntil()
      isNew = true
      void read()
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

/** Where a message stands; undefined for all but what people write: only that can be read back. */
function writtenIn({ kind, payload, workspace: { team } }: Delivery): Written | undefined {
  const event = objectAt(payload, 'event')
  if (kind !== 'event' || (event.type !== 'message' && event.type !== 'app_mention')) return undefined
  if (event.subtype === 'message_changed' || event.subtype === 'message_deleted') return undefined
  const [channel, ts, root] = ['channel', 'ts', 'thread_ts'].map((key) => textAt(event, key))
  if (channel === undefined || ts === undefined || Number.isNaN(Number(ts))) return undefined
  return { team, channel, all: event.type === 'message', ts: Number(ts), thread: root ?? ts }
}
