import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { reasonOf } from '../../src/core/errors.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { putLast } from '../../src/lib/put-last.ts'

/** A channel in which somebody wrote. Times are Slack's: seconds with six decimals, the ids of messages too. */
export type Channel = {
  team: string
  id: string
  /** Whether Slack delivers all messages of the channel here, or only those that mention the bot. */
  all: boolean
  /** Nothing before it was ever our business. */
  first: number
  /** Roots of threads, and when each was last written in; the last of these stands last. */
  threads: Map<string, number>
  /** Whether the store knows it. */
  isStored: boolean
}

/** Where a message stands. `thread`: the root of its thread, or itself. */
export type Written = Pick<Channel, 'team' | 'id' | 'all'> & { ts: number; thread: string }

/** Shorter than messages are recognised (7 days), less the day for which a fill is tried. */
export const KEPT = 5 * 86_400_000
const MAX_CHANNELS = 5000
/** How many threads of a channel are remembered: its record stays below 2 KB. */
const MAX_THREADS = 40
/** How soon is saved (ms): late costs some calls after a crash. */
const SAVE = 2000

const channelSchema = z.object({
  team: z.string(),
  channel: z.string(),
  all: z.boolean(),
  first: z.number().default(0),
  active: z.record(z.string(), z.number()).default({}),
})

/**
 * The channels, and until when everything was taken: in memory, and on the store for the next daemon. `whole`: until when;
 * undefined until that is known. `reach`: how far back is read (ms).
 */
export function createGapMemory(
  { kv, gateway, log }: Pick<TransportDeps, 'kv' | 'gateway' | 'log'>,
  whole: () => number | undefined,
  reach: number,
) {
  const seen = `slack/${gateway}/seen/`
  const wholes = `slack/${gateway}/whole/`
  const own = wholes + randomUUID()
  const channels = new Map<string, Channel>()
  const dirty = new Set<Channel>()
  let saved: number | undefined

  const find = (team: string, id: string, { all, first }: Pick<Channel, 'all' | 'first'>): Channel => {
    const key = `${team}/${id}`
    const channel = channels.get(key) ?? { team, id, all, first, threads: new Map(), isStored: false }
    channel.all ||= all
    channel.first = Math.min(channel.first, first)
    putLast(channels, key, channel, MAX_CHANNELS)
    return channel
  }

  const read = async (key: string): Promise<void> => {
    const stored = channelSchema.safeParse((await kv.get(key))?.value).data
    if (!stored) return
    const channel = find(stored.team, stored.channel, stored)
    channel.isStored = true
    const all = [...Object.entries(stored.active), ...channel.threads].sort(([, a], [, b]) => a - b)
    channel.threads.clear()
    for (const [root, at] of all) remember(channel, root, at)
  }

  /** Other daemons write it, too: what they know is kept. */
  const write = async (channel: Channel): Promise<void> => {
    const key = `${seen}${channel.team}/${channel.id}`
    await read(key)
    const { team, id, all, first, threads } = channel
    const active = Object.fromEntries(threads)
    await kv.set(key, { team, channel: id, all, first, active }, { ttl: KEPT })
    channel.isStored = true
  }

  const save = async () => {
    const changed = [...dirty]
    dirty.clear()
    const until = whole()
    try {
      await Promise.all(changed.map(write))
      if (until === undefined) return
      // That of a daemon that is gone says nothing more once it is out of reach.
      if (until !== saved) await kv.set(own, until, { ttl: reach })
      saved = until
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
    note({ team, id, all, ts, thread }: Written): Channel {
      const channel = find(team, id, { all, first: ts })
      remember(channel, thread, ts)
      saveSoon(channel)
      return channel
    },
    channels: () => [...channels.values()],
    /** Learns what the store knows. Resolves with until when every other daemon has taken all; Infinity without any. */
    async load(): Promise<number> {
      await Promise.all((await kv.list(seen, MAX_CHANNELS)).map(read))
      const keys = (await kv.list(wholes, 100)).filter((key) => key !== own)
      const untils = await Promise.all(keys.map((key) => kv.get(key)))
      return Math.min(...untils.map((each) => z.number().catch(0).parse(each?.value)))
    },
    /** Keeps what is new at once. Never rejects. */
    save,
  }
}

/** When somebody wrote there last. */
export function lastActive({ threads, first }: Channel): number {
  return [...threads.values()].at(-1) ?? first
}

/** The longest silent one is forgotten where there are too many. */
function remember({ threads }: Channel, root: string, at: number): void {
  putLast(threads, root, Math.max(threads.get(root) ?? 0, at), MAX_THREADS)
}
