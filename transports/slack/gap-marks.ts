import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { reasonOf } from '../../src/core/errors.ts'
import type { KeyValues } from '../../src/core/store.ts'
import type { TransportDeps } from '../../src/core/transport.ts'

/** Times here are Slack's: seconds, with six decimals, which are the ids of messages too. */
export type Channel = {
  team: string
  id: string
  /** Slack's channel_type, where an event told it. */
  type?: string
  /** Whether Slack delivers all messages of the channel here, or only those that mention the bot. */
  all: boolean
  /** Nothing before it was ever our business. */
  first: number
  /** Every message up to here was taken. Undefined until the store has said what it knows. */
  mark: number | undefined
  /** The newest message that came live; only while nothing is missing does it move `mark`. */
  newest: number
  /** Roots of threads, and when each was last spoken in; the last of these stands last. */
  threads: Map<string, number>
  /**
   * While something may be missing: since when it can be read back (Unix ms; `NOT_YET` while nothing comes live), from
   * which is counted how far back a fill reaches, however long its turn takes to come.
   */
  open: number | undefined
  /** Whether a fill of it should not wait for others: what is missing was refused, or is of a moment ago. */
  urgent: boolean
  /** Counts how often it was opened: a fill that was overtaken must not close it. */
  turn: number
  /** The version of what the store has. */
  version: number
}

/** How far each channel was read: in memory, and on the store, which several daemons may share. */
export type Marks = {
  /** The channel; made where it is not known yet, as one of which everything from `at` on is ours. */
  channel(team: string, id: string, at: number): Channel
  /** Those that wait for a fill, the last active first. */
  open(): Channel[]
  /** From now on something may be missing in this channel (without one: in all), after `since` at the latest. */
  reopen(since: number, channel?: Channel): void
  /** Nothing is missing any more: what comes live moves the mark again. */
  close(channel: Channel, readTo: number): void
  /** As `close`, where the channel cannot be read at all: the store forgets it in time, unless it is heard of. */
  leave(channel: Channel): void
  /** Reads what the store knows. A channel of which it knows nothing has missed nothing. */
  load(): Promise<void>
  /** The channels in which somebody wrote after `since` (Unix ms), the last active first. */
  active(since: number): Channel[]
  /** Keeps on the store since when something is missing, until `settle`: others move the marks on meanwhile. */
  persistGap(): Promise<void>
  settle(): Promise<void>
  /** Keeps a channel soon. */
  touch(channel: Channel): void
  stop(): Promise<void>
}

/** The least difference between two timestamps of Slack. */
export const TICK = 1e-6
/** Shorter than messages are recognised (7 days), so that none is taken twice because its key is forgotten. */
export const KEPT = 6 * 86_400_000
const NOT_YET = Number.POSITIVE_INFINITY
const MAX_CHANNELS = 5000
/** How soon a mark is kept (ms): an old one on the store costs calls, but with none nobody knows of the channel. */
const SAVE = 2000
const SAVE_NEW = 20
const AT_ONCE = 50
const TRIES = 5

const storedSchema = z.object({
  ts: z.string().transform(Number),
  all: z.boolean(),
  team: z.string(),
  channel: z.string(),
  first: z.number().default(0),
  type: z.string().exactOptional(),
  active: z.record(z.string(), z.number()).default({}),
})

type Stored = z.infer<typeof storedSchema>

/** How many threads of a channel are remembered: its record stays below 2 KB. */
const MAX_THREADS = 40

/** Remembers that a thread was spoken in; the longest silent one is forgotten where there are too many. */
export function rememberThread({ threads }: Pick<Channel, 'threads'>, root: string, at: number): void {
  const before = threads.get(root) ?? 0
  threads.delete(root)
  threads.set(root, Math.max(before, at))
  const [oldest] = threads.keys()
  if (threads.size > MAX_THREADS && oldest !== undefined) threads.delete(oldest)
}

/**
 * `underWay`: the oldest message of each channel that has come and is not durable yet; no mark may pass it. `reach`:
 * how far back a fill reads at most (ms).
 */
export function createMarks(
  { kv, gateway, now, log }: Pick<TransportDeps, 'kv' | 'gateway' | 'now' | 'log'>,
  { underWay, reach }: { underWay(): ReadonlyMap<string, number>; reach: number },
): Marks {
  const prefix = `slack/${gateway}/seen/`
  const gaps = `slack/${gateway}/gap/`
  const ownGap = gaps + randomUUID()
  const channels = new Map<string, Channel>()
  const dirty = new Set<Channel>()
  let loaded = false
  /** Since when something is missing here, and what of that the store has been told. */
  let since: number | undefined
  let told: number | undefined
  let telling: Promise<void> = Promise.resolve()
  let timer: NodeJS.Timeout | undefined
  let due = 0
  let stopped = false

  const keyOf = ({ team, id }: Channel) => `${team}/${id}`

  const touch = (channel: Channel) => {
    dirty.add(channel)
    saveIn(channel.version === 0 ? SAVE_NEW : SAVE)
  }

  const saveIn = (ms: number) => {
    const at = now() + ms
    if (stopped || (timer && due <= at)) return
    clearTimeout(timer)
    due = at
    timer = setTimeout(() => {
      timer = undefined
      void trySave()
    }, ms)
    timer.unref()
  }

  const trySave = async () => {
    const changed = [...dirty]
    dirty.clear()
    const oldest = underWay()
    try {
      for (let from = 0; from < changed.length; from += AT_ONCE) {
        await Promise.all(changed.slice(from, from + AT_ONCE).map((channel) => save(channel, oldest)))
      }
    } catch (error) {
      // Without it, more is read again after the next start, and known by its keys.
      for (const channel of changed) dirty.add(channel)
      saveIn(SAVE)
      log.debug({ reason: reasonOf(error) }, 'how far Slack was read could not be kept')
    }
  }

  const save = async (channel: Channel, oldest: ReadonlyMap<string, number>) => {
    for (let attempt = 0; attempt < TRIES; attempt++) {
      const mark = readTo(channel, oldest)
      if (mark === undefined) return
      const version = await kv.set(prefix + keyOf(channel), toStored(channel, mark), {
        ttl: KEPT,
        ifVersion: channel.version,
      })
      if (version !== undefined) {
        channel.version = version
        return
      }
      // Another daemon has written: what both know is kept.
      const { stored, version: theirs } = await readStored(kv, prefix + keyOf(channel))
      channel.version = theirs
      if (stored) merge(channel, stored)
      if (stored && channel.open === undefined && channel.mark !== undefined) {
        channel.mark = Math.max(channel.mark, stored.ts)
      }
    }
  }

  /** How far a channel is read: what came live counts only where nothing is missing before it. */
  const readTo = (channel: Channel, oldest: ReadonlyMap<string, number>): number | undefined => {
    if (channel.open !== undefined || channel.mark === undefined) return channel.mark
    const unfinished = oldest.get(channel.id) ?? Number.POSITIVE_INFINITY
    return Math.min(Math.max(channel.mark, channel.newest), unfinished - TICK)
  }

  const reopenOne = (channel: Channel, at: number, open: number, oldest: ReadonlyMap<string, number>) => {
    const mark = readTo(channel, oldest)
    if (mark !== undefined) channel.mark = Math.min(mark, at)
    // What has waited for its turn since an earlier gap still reaches back as far as it did then.
    channel.open = Math.min(channel.open ?? open, open)
    channel.turn++
  }

  const adopt = (stored: Stored, version: number, missing: number) => {
    const name = `${stored.team}/${stored.channel}`
    const known = channels.get(name)
    const channel = known ?? newChannel(stored.team, stored.channel, stored.ts, NOT_YET)
    if (!known) channels.set(name, channel)
    merge(channel, stored)
    channel.version = version
    // What others read counts up to where something went missing.
    const theirs = Math.min(stored.ts, missing)
    channel.mark = channel.mark === undefined ? theirs : Math.max(channel.mark, theirs)
  }

  /** Since when something is missing that this or another daemon, perhaps one that died, has not made up for. */
  const missingSince = async (): Promise<number> => {
    const found = await Promise.all((await kv.list(gaps, 100)).map((key) => kv.get(key)))
    const others = found.map((each) => z.number().safeParse(each?.value).data ?? Number.POSITIVE_INFINITY)
    return Math.min(since ?? Number.POSITIVE_INFINITY, ...others)
  }

  const byActivity = (wanted: (channel: Channel) => boolean): Channel[] =>
    [...channels.values()].filter(wanted).sort((a, b) => b.newest - a.newest)

  const tell = async () => {
    if (since === told) return
    const at = since
    if (at === undefined) await kv.delete(ownGap)
    else await kv.set(ownGap, at, { ttl: reach })
    told = at
  }

  /** One at a time: of a deletion and a write that cross, either might win. */
  const tellInTurn = () => {
    const turn = telling.then(tell)
    telling = turn.catch(() => undefined)
    return turn
  }

  return {
    channel(team, id, at) {
      const name = `${team}/${id}`
      const known = channels.get(name)
      if (known) return known
      const channel = newChannel(team, id, at, loaded ? undefined : NOT_YET)
      if (loaded) channel.mark = at
      channels.set(name, channel)
      const [first] = channels.keys()
      if (channels.size > MAX_CHANNELS && first !== undefined) channels.delete(first)
      return channel
    },
    open: () => byActivity(({ open, mark }) => open !== undefined && mark !== undefined),
    active: (from) => byActivity(({ newest }) => newest * 1000 > from),
    reopen(at, channel) {
      since = Math.min(since ?? at, at)
      if (channel) {
        channel.first = Math.min(channel.first, at)
        // While the store is away thousands may be refused; what is open needs no look at the others.
        reopenOne(channel, at, now(), channel.open === undefined ? underWay() : new Map())
        channel.urgent = true
        return touch(channel)
      }
      loaded = false
      const oldest = underWay()
      // What the store has of these may be too far: the gap that it is told of says so.
      for (const each of channels.values()) reopenOne(each, at, NOT_YET, oldest)
    },
    close(channel, read) {
      const before = channel.mark ?? 0
      channel.mark = Math.max(before, read)
      ended(channel)
      if (Math.max(channel.mark, channel.newest) > before) touch(channel)
    },
    leave: ended,
    async load() {
      const missing = await missingSince()
      const keys = await kv.list(prefix, MAX_CHANNELS)
      for (let from = 0; from < keys.length; from += AT_ONCE) {
        const batch = keys.slice(from, from + AT_ONCE)
        for (const { stored, version } of await Promise.all(batch.map((key) => readStored(kv, key)))) {
          if (stored) adopt(stored, version, missing)
        }
      }
      loaded = true
      for (const channel of channels.values()) {
        if (channel.open === NOT_YET) channel.open = now()
        if (channel.mark !== undefined) continue
        channel.mark = channel.first
        // What began after the connection, and had nothing refused, has missed nothing.
        if (channel.turn === 0) channel.open = undefined
        touch(channel)
      }
    },
    persistGap: tellInTurn,
    settle() {
      since = undefined
      return tellInTurn()
    },
    touch,
    async stop() {
      stopped = true
      clearTimeout(timer)
      await trySave()
    },
  }
}

function ended(channel: Channel): void {
  channel.open = undefined
  channel.urgent = false
}

function newChannel(team: string, id: string, at: number, open: number | undefined): Channel {
  return {
    team,
    id,
    all: false,
    first: at,
    mark: undefined,
    newest: at,
    threads: new Map(),
    open,
    urgent: false,
    turn: 0,
    version: 0,
  }
}

/** Takes over what only the store knows. */
function merge(channel: Channel, stored: Stored): void {
  channel.all ||= stored.all
  channel.first = Math.min(channel.first, stored.first)
  if (channel.type === undefined && stored.type !== undefined) channel.type = stored.type
  const all = new Map([...Object.entries(stored.active), ...channel.threads].sort(([, a], [, b]) => a - b))
  channel.threads.clear()
  for (const [root, at] of all) rememberThread(channel, root, at)
}

function toStored(channel: Channel, mark: number) {
  const { team, id, all, first, type, threads } = channel
  const active = Object.fromEntries(threads)
  return {
    team,
    channel: id,
    ts: mark.toFixed(6),
    all,
    first,
    active,
    ...(type === undefined ? {} : { type }),
  }
}

async function readStored(
  kv: KeyValues,
  key: string,
): Promise<{ stored: Stored | undefined; version: number }> {
  const found = await kv.get(key)
  return { stored: storedSchema.safeParse(found?.value).data, version: found?.version ?? 0 }
}
