import { randomUUID } from 'node:crypto'
import { reasonOf } from '../../../src/core/errors.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { putLast } from '../../../src/lib/put-last.ts'
import { type Channel, channelSchema, keyOf } from './channel.ts'

/**
 * How long (ms) channels are remembered: shorter than messages are deduplicated (7 days), minus the
 * day for which a gap is retried.
 */
export const KEPT = 5 * 86_400_000
const MAX_CHANNELS = 5000
/** Maximum number of remembered threads per channel, so that its record stays below 2 KB. */
const MAX_KNOWN_THREADS = 40
/** Delay (ms) of writes. A crash in between only costs some calls. */
const SAVE = 2000

/**
 * The channels with messages, in memory and in the store. `whole`: the time up to which all
 * messages were received, if known. `reach`: maximum age (ms) of relevant messages.
 */
export function createChannels(
  { kv, log, gateway }: Pick<TransportDeps, 'kv' | 'log' | 'gateway'>,
  reach: number,
  whole: () => number | undefined,
) {
  const seen = `slack/${gateway}/seen/`
  const wholes = `slack/${gateway}/whole/`
  const own = wholes + randomUUID()
  const channels = new Map<string, Channel>()
  const dirty = new Set<Channel>()

  /** Merges new data about a channel into the known data. */
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

  /** Records a message. The timer stays, because an unnecessary run is cheaper than keeping track. */
  function note(written: Channel): Channel {
    const channel = learn(written)
    if (dirty.size === 0) setTimeout(save, SAVE).unref()
    dirty.add(channel)
    return channel
  }

  /** Stores changes. Never rejects. */
  async function save(): Promise<void> {
    const changed = [...dirty]
    dirty.clear()
    const until = whole()
    try {
      await Promise.all(changed.map(write))
      // The value of a dead daemon is useless beyond `reach`.
      if (until !== undefined) await kv.set(own, until, { ttl: reach })
    } catch (error) {
      changed.forEach(note)
      log.debug({ reason: reasonOf(error) }, 'the position up to which Slack was read could not be stored')
    }
  }

  /** Other daemons write it too, so their data is merged. */
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

  return {
    has: (channel: Channel) => channels.has(keyOf(channel)),
    note,
    save,
    /**
     * Reads from the store: the channels, most recently active first, and the times up to which
     * other daemons had received all messages.
     */
    async load(): Promise<{ known: Channel[]; untils: number[] }> {
      await Promise.all((await kv.list(seen, MAX_CHANNELS)).map(read))
      const others = (await kv.list(wholes, 100)).filter((key) => key !== own)
      const untils = await Promise.all(others.map(async (key) => Number((await kv.get(key))?.value ?? 0)))
      const lastIn = ({ active }: Channel) => Math.max(0, ...Object.values(active))
      return { known: [...channels.values()].sort((a, b) => lastIn(b) - lastIn(a)), untils }
    },
  }
}
