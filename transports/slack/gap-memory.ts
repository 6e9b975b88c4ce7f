import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { reasonOf } from '../../src/core/errors.ts'
import { objectAt, textAt } from '../../src/core/json.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { putLast } from '../../src/lib/put-last.ts'
import type { Delivery } from './inbound/delivery.ts'

/** A channel in which somebody wrote. Times are Slack's: seconds with six decimals, the ids of messages too. */
const channelSchema = z.object({
  team: z.string(),
  channel: z.string(),
  /** Whether Slack delivers all messages of the channel here, or only those that mention the bot. */
  all: z.boolean(),
  /** Nothing before it was ever our business. */
  first: z.number().default(0),
  /** Roots of threads, and when each was last written in. */
  active: z.record(z.string(), z.number()).default({}),
})

export type Channel = z.infer<typeof channelSchema>

/** Where a message stands. `thread`: the root of its thread, or itself. */
export type Written = Pick<Channel, 'team' | 'channel' | 'all'> & { ts: number; thread: string }

/** Shorter than messages are recognised (7 days), less the day for which a fill is tried. */
export const KEPT = 5 * 86_400_000
const MAX_CHANNELS = 5000
/** How many threads of a channel are remembered: its record stays below 2 KB. */
const MAX_THREADS = 40
/** How soon is saved (ms): late costs some calls after a crash. */
const SAVE = 2000

/**
 * The channels, and until when everything was taken: in memory, and on the store for the next daemon. `whole`: until when;
 * undefined until that is known. `reach`: how far back is read (ms).
 */
export function createGapMemory(
  { kv, gateway, log }: TransportDeps,
  whole: () => number | undefined,
  reach: number,
) {
  const seen = `slack/${gateway}/seen/`
  const wholes = `slack/${gateway}/whole/`
  const own = wholes + randomUUID()
  const channels = new Map<string, Channel>()
  const dirty = new Set<Channel>()

  /** Adds what is known of a channel to what was. */
  const learn = (more: Channel): Channel => {
    const key = keyOf(more)
    const known = channels.get(key) ?? more
    const { active } = known
    for (const [root, at] of Object.entries(more.active)) active[root] = Math.max(active[root] ?? 0, at)
    known.all ||= more.all
    known.first = Math.min(known.first, more.first)
    putLast(channels, key, known, MAX_CHANNELS)
    return known
  }

  const read = async (key: string): Promise<void> => {
    const { data } = channelSchema.safeParse((await kv.get(key))?.value)
    if (data) learn(data)
  }

  /** Other daemons write it, too: what they know is kept. */
  const write = async (channel: Channel): Promise<void> => {
    const key = seen + keyOf(channel)
    await read(key)
    const active = Object.entries(channel.active).sort(([, a], [, b]) => a - b)
    channel.active = Object.fromEntries(active.slice(-MAX_THREADS))
    await kv.set(key, channel, { ttl: KEPT })
  }

  const save = async () => {
    const changed = [...dirty]
    dirty.clear()
    const until = whole()
    try {
      await Promise.all(changed.map(write))
      // That of a daemon that is gone says nothing more once it is out of reach.
      if (until !== undefined) await kv.set(own, until, { ttl: reach })
    } catch (error) {
      changed.forEach(saveSoon)
      log.debug({ reason: reasonOf(error) }, 'how far Slack was read could not be kept')
    }
  }

  /** A timer that finds nothing to save is cheaper than to keep one. */
  const saveSoon = (channel: Channel) => {
    if (dirty.size === 0) setTimeout(save, SAVE).unref()
    dirty.add(channel)
  }

  return {
    /** Remembers that a message was written. */
    note({ ts, thread, ...where }: Written): { channel: Channel; isNew: boolean } {
      const isNew = !channels.has(keyOf(where))
      const channel = learn({ ...where, first: ts, active: { [thread]: ts } })
      saveSoon(channel)
      return { channel, isNew }
    },
    /** What the store knows: the channels, the last active first, and until when every other daemon has taken all; Infinity without any. */
    async load() {
      await Promise.all((await kv.list(seen, MAX_CHANNELS)).map(read))
      const keys = (await kv.list(wholes, 100)).filter((key) => key !== own)
      const untils = await Promise.all(keys.map((key) => kv.get(key)))
      const lastIn = ({ active }: Channel) => Math.max(0, ...Object.values(active))
      return {
        channels: [...channels.values()].sort((a, b) => lastIn(b) - lastIn(a)),
        others: Math.min(...untils.map((each) => z.number().catch(0).parse(each?.value))),
      }
    },
    /** Keeps what is new at once. Never rejects. */
    save,
  }
}

function keyOf({ team, channel }: Pick<Channel, 'team' | 'channel'>): string {
  return `${team}/${channel}`
}

/** Where a message stands; undefined for all but what people write: only that can be read back. */
export function writtenIn({ kind, payload, workspace: { team } }: Delivery): Written | undefined {
  const event = objectAt(payload, 'event')
  if (kind !== 'event' || (event.type !== 'message' && event.type !== 'app_mention')) return undefined
  if (event.subtype === 'message_changed' || event.subtype === 'message_deleted') return undefined
  const [channel, ts, root] = ['channel', 'ts', 'thread_ts'].map((key) => textAt(event, key))
  if (channel === undefined || ts === undefined || Number.isNaN(Number(ts))) return undefined
  return { team, channel, all: event.type === 'message', ts: Number(ts), thread: root ?? ts }
}
