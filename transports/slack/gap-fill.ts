import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { reasonOf, TriviumError } from '../../src/core/errors.ts'
import { type JsonObject, objectAt, textAt } from '../../src/core/json.ts'
import type { Health, TransportDeps } from '../../src/core/transport.ts'
import { formatDuration } from '../../src/core/units.ts'
import { backoff } from '../../src/lib/backoff.ts'
import { pause } from '../../src/lib/pause.ts'
import { putLast } from '../../src/lib/put-last.ts'
import { createTokenBucket } from '../../src/lib/token-bucket.ts'
import { createTurns } from '../../src/lib/turns.ts'
import { readHistory, slackFailure } from './api.ts'
import type { Delivery, Taken } from './inbound/delivery.ts'
import type { SlackInbound } from './inbound/inbound.ts'
import type { SlackOptions } from './options.ts'
import type { Workspaces } from './workspaces.ts'

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
/** Shorter than messages are recognised (7 days), less the day for which a gap is tried. */
const KEPT = 5 * 86_400_000
const MAX_CHANNELS = 5000
/** How many threads of a channel are remembered: its record stays below 2 KB. */
const MAX_KNOWN_THREADS = 40
/** How soon is saved (ms): late costs some calls after a crash. */
const SAVE = 2000

/** A channel in which somebody wrote. Times are Slack's: seconds with six decimals, the ids of messages too. */
const channelSchema = z.object({
  team: z.string(),
  channel: z.string(),
  /** Whether Slack delivers all messages of the channel here, or only those that mention the bot. */
  all: z.boolean(),
  /** Whether Slack tells of mentions there by `app_mention` too. */
  mentions: z.boolean().default(false),
  /** Nothing before it was ever our business. */
  first: z.number().default(0),
  /** Roots of threads, and when each was last written in. */
  active: z.record(z.string(), z.number()).default({}),
})

type Channel = z.infer<typeof channelSchema>

/** Something may be missing in a channel. */
type Gap = {
  channel: Channel
  /** Everything before was taken (Slack's seconds). */
  since: number
  /** Since when the gap can be read (Unix ms): from here is counted how far back `fill-gaps` reaches. */
  opened: number
  failures: number
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
  { now, log, kv, gateway }: TransportDeps,
  workspaces: Workspaces,
  inbound: Pick<SlackInbound, 'take'>,
) {
  if (options['fill-gaps'] === 'off') return undefined
  const reach = Math.min(options['fill-gaps'], KEPT)
  const seen = `slack/${gateway}/seen/`
  const wholes = `slack/${gateway}/whole/`
  const own = wholes + randomUUID()
  const channels = new Map<string, Channel>()
  const dirty = new Set<Channel>()
  const gaps = new Set<Gap>()
  /** Those that are not being read yet; what is missed in a channel that is needs another reading. */
  const waiting = new Map<Channel, Gap>()
  const nextCall = createTokenBucket(CALLS, now)
  const inTurn = createTurns()
  const stopping = new AbortController()
  /** The newest that came; by Slack's clock, which may be behind ours. */
  let newest = 0
  /** Until when everything had been taken at the last connection, and whether what is missing since is known. */
  let before = Number.POSITIVE_INFINITY
  let isLoaded = false

  /** Until when everything was taken. */
  const whole = () => Math.min(newest, ...Array.from(gaps, ({ since }) => since))

  /** Adds what is known of a channel to what was known before. */
  function learn(more: Channel): Channel {
    const key = keyOf(more)
    const known = channels.get(key) ?? more
    const { active } = known
    for (const [root, at] of Object.entries(more.active)) active[root] = Math.max(active[root] ?? 0, at)
    known.all ||= more.all
    known.mentions ||= more.mentions
    known.first = Math.min(known.first, more.first)
    putLast(channels, key, known, MAX_CHANNELS)
    return known
  }

  /** Remembers that a message was written. A timer that finds nothing to save is cheaper than to keep one. */
  function note(written: Channel): Channel {
    const channel = learn(written)
    if (dirty.size === 0) setTimeout(save, SAVE).unref()
    dirty.add(channel)
    return channel
  }

  /** Keeps what is new. Never rejects. */
  async function save(): Promise<void> {
    const changed = [...dirty]
    dirty.clear()
    const until = isLoaded ? whole() : undefined
    try {
      await Promise.all(changed.map(write))
      // That of a daemon that is gone says nothing more once it is out of reach.
      if (until !== undefined) await kv.set(own, until, { ttl: reach })
    } catch (error) {
      changed.forEach(note)
      log.debug({ reason: reasonOf(error) }, 'how far Slack was read could not be kept')
    }
  }

  /** Other daemons write it, too: what they know is kept. */
  async function write(channel: Channel): Promise<void> {
    const key = seen + keyOf(channel)
    await read(key)
    const active = Object.entries(channel.active).sort(([, a], [, b]) => a - b)
    channel.active = Object.fromEntries(active.slice(-MAX_KNOWN_THREADS))
    await kv.set(key, channel, { ttl: KEPT })
  }

  async function read(key: string): Promise<void> {
    const { data } = channelSchema.safeParse((await kv.get(key))?.value)
    if (data) learn(data)
  }

  /** Learns from the store what may be missing, and has it read: the last active channels first. Never rejects. */
  async function load(): Promise<void> {
    for (let failures = 1; !isLoaded && !stopping.signal.aborted; failures++) {
      try {
        await Promise.all((await kv.list(seen, MAX_CHANNELS)).map(read))
        const others = (await kv.list(wholes, 100)).filter((key) => key !== own)
        const untils = await Promise.all(others.map(async (key) => Number((await kv.get(key))?.value ?? 0)))
        const until = Math.min(before, ...untils)
        // A first daemon knows nothing.
        const since = Number.isFinite(until) ? until : 0
        const lastIn = ({ active }: Channel) => Math.max(0, ...Object.values(active))
        const known = [...channels.values()].sort((a, b) => lastIn(b) - lastIn(a))
        for (const channel of known) void open(channel, since)
        newest = Math.max(newest, since)
        isLoaded = true
      } catch (error) {
        log.debug({ reason: reasonOf(error) }, 'how far Slack was read is not known yet')
        await pause(backoff(failures, BACKOFF), stopping.signal)
      }
    }
  }

  /** Has a channel read after `wait` ms, once for all that is missed until then. Never rejects. */
  async function open(channel: Channel, since: number, wait = 0): Promise<void> {
    const pending = waiting.get(channel)
    if (pending) return void Object.assign(pending, { since: Math.min(since, pending.since) })
    const gap: Gap = { channel, since, opened: now(), failures: 0 }
    gaps.add(gap)
    for (let rest: number | undefined = wait; rest !== undefined; ) {
      waiting.set(channel, gap)
      await pause(rest, stopping.signal)
      // What was taken until the stop is all that the next daemon has to know.
      if (stopping.signal.aborted) return
      rest = await fill(gap).catch((error: unknown) => retryAfter(gap, error))
    }
    gaps.delete(gap)
    await save()
  }

  /** Takes what was missed; what waits for a name or a file holds up no other. */
  async function fill(gap: Gap): Promise<undefined> {
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

  /** What was written in a channel and its threads since the gap began, as events, in order. */
  async function readBack(gap: Gap): Promise<Delivery[]> {
    // What is refused before its turn comes may be older than what it was opened for.
    await pace()
    waiting.delete(gap.channel)
    const { team, channel, all, first, active: threads } = gap.channel
    const workspace = await workspaces.find(team)
    // The app may be gone from there.
    if (!workspace) return []
    const { api, botUser } = workspace
    const found = new Map<string, JsonObject>()
    const read = async (query: JsonObject) => {
      const { messages, isCut } = await readHistory(api, { channel, ...query }, MAX_MESSAGES, pace)
      for (const message of messages) found.set(textAt(message, 'ts') ?? '', message)
      return isCut && messages
    }
    const from = Math.max(gap.since - OVERLAP, first - TICK, (gap.opened - reach) / 1000)
    const active = Object.keys(threads).filter((root) => Number(threads[root]) > from - ACTIVE)
    // The history goes back to the threads that may have gone on: it tells which of them did.
    const near = active.map(Number).filter((root) => root > from - ACTIVE)
    const oldest = (Math.min(from, ...near) - TICK).toFixed(6)
    // Without an end Slack may give what is closest to `oldest` first, and what was missed last.
    const cut = await read({ oldest, latest: (from + FUTURE).toFixed(6) })
    const answered = [...found].filter(([, root]) => Number(root.latest_reply ?? 0) > from).map(([ts]) => ts)
    const roots = [...answered, ...active.filter((root) => !found.has(root)).reverse()]
    let isCut = roots.length > MAX_THREADS || (cut && Number(cut.at(-1)?.ts) > from)
    for (const ts of roots.slice(0, MAX_THREADS)) {
      try {
        await pace()
        if (await read({ ts, oldest: from.toFixed(6) })) isCut = true
      } catch (error) {
        if (slackFailure(error).code !== 'thread_not_found') throw error
        // Its root was deleted, and all of it with that.
        delete threads[ts]
      }
    }
    if (isCut) log.warn({ channel }, 'more was missed in Slack than is read back')
    const mention = new RegExp(`<@${botUser}[|>]`)
    return (
      [...found.values()]
        .filter(({ ts, text }) => Number(ts) > from && (all || mention.test(String(text))))
        .sort((a, b) => Number(a.ts) - Number(b.ts))
        // History does not say where it is of; the events that Slack delivers do.
        .flatMap((message) => {
          const { ts, text } = message
          const isMentioned = mention.test(String(text)) && (gap.channel.mentions || !all)
          const kinds = [...(all ? ['message'] : []), ...(isMentioned ? ['app_mention'] : [])]
          const place = {
            channel,
            event_ts: ts ?? '',
            channel_type: channel.startsWith('D') ? 'im' : 'channel',
          }
          return kinds.map((type) => ({ ...message, ...place, type }))
        })
        .map((event) => ({ payload: { type: 'event_callback', team_id: team, event }, workspace, retry: 0 }))
    )
  }

  /** In how many ms a channel that could not be read is tried again; undefined: never. */
  function retryAfter(gap: Gap, error: unknown): number | undefined {
    if (stopping.signal.aborted) return 0
    const { kind, reason, seconds, isToken } = slackFailure(error)
    const { channel } = gap.channel
    // A token that Slack does not accept may be mended.
    const isRefused = kind === 'rejected' && !isToken
    if (isRefused || gap.opened < now() - LONGEST) {
      log[isRefused ? 'debug' : 'error']({ channel, reason }, 'what was missed in Slack cannot be read')
      return undefined
    }
    if (kind === 'rate-limited') return Math.max(1000, seconds * 1000)
    if (!gap.failing) log.warn({ channel, reason }, 'what was missed in Slack could not be read yet')
    gap.failing = reason
    return backoff(++gap.failures, BACKOFF)
  }

  /** Resolves when the next call may be made, for all channels in the order in which they ask. */
  const pace = () =>
    inTurn(async () => {
      const { signal } = stopping
      for (let wait = nextCall(); wait > 0 && !signal.aborted; wait = nextCall()) await pause(wait, signal)
      signal.throwIfAborted()
    })

  return {
    /** Goes through `take` unchanged; remembers where somebody wrote, and has read back what was refused. */
    async watch(delivery: Delivery, take: () => Promise<Taken>): Promise<Taken> {
      const written = writtenIn(delivery)
      if (!written) return take()
      try {
        const taken = await take()
        newest = Math.max(newest, written.first)
        const isNew = !channels.has(keyOf(written))
        if (taken) note(written)
        // After a crash nobody would know of a channel in which nobody had written before.
        if (taken && isNew) await save()
        return taken
      } catch (error) {
        void open(note(written), written.first - TICK, BACKOFF.first)
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
    status(): Health | undefined {
      if (gaps.size === 0) return undefined
      const { size } = new Set(Array.from(gaps, ({ channel }) => channel))
      const detail = `catching up: ${size} ${size === 1 ? 'channel' : 'channels'}`
      const stuck = [...gaps].find(({ failing, opened }) => failing && now() - opened > STUCK)
      if (!stuck) return { ok: true, detail }
      const since = formatDuration(now() - stuck.opened)
      return { ok: false, detail: `${detail}, failing for ${since}: ${stuck.failing}` }
    },
    /** Keeps what is remembered. */
    async stop() {
      stopping.abort()
      await save()
    },
  }
}

/** What a message tells of its channel; undefined for all but what people write: only that can be read back. */
function writtenIn({ payload, workspace: { team } }: Delivery): Channel | undefined {
  const event = objectAt(payload, 'event')
  if (event.type !== 'message' && event.type !== 'app_mention') return undefined
  if (event.subtype === 'message_changed' || event.subtype === 'message_deleted') return undefined
  const [channel, ts, root = ts] = ['channel', 'ts', 'thread_ts'].map((key) => textAt(event, key))
  const at = Number(ts)
  if (channel === undefined || root === undefined || Number.isNaN(at)) return undefined
  const kinds = { all: event.type === 'message', mentions: event.type === 'app_mention' }
  return { team, channel, ...kinds, first: at, active: { [root]: at } }
}

function keyOf({ team, channel }: Pick<Channel, 'team' | 'channel'>): string {
  return `${team}/${channel}`
}
