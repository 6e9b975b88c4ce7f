import { randomUUID } from 'node:crypto'
import { allKeys } from '../../../src/core/all-keys.ts'
import { reasonOf } from '../../../src/core/errors.ts'
import { withUnknownFields } from '../../../src/core/stored-entries.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { DAY } from '../../../src/core/units.ts'
import { defined } from '../../../src/lib/defined.ts'
import { putLast } from '../../../src/lib/put-last.ts'
import { type Channel, channelSchema, keyOf } from './channel.ts'

/**
 * How long channels are remembered. Together with the day for which a gap is retried, it is shorter
 * than the time for which messages are deduplicated (`KEY_TTL`).
 */
export const CHANNEL_TTL_MS = 5 * DAY
const MAX_CHANNELS = 5_000
/** Maximum number of remembered threads per channel, so that its record stays below 2 KB. */
const MAX_KNOWN_THREADS = 40
/** Delay of writes. After a crash in between, only some messages are read twice. */
const SAVE_DELAY_MS = 2_000

/**
 * The channels with messages, in memory and in the store. `completeUntil` returns the time (Slack
 * timestamp) up to which all messages were received, if known. Messages older than `maxAge` (ms)
 * are not read back.
 */
export function createChannels(
  { kv, log, gateway }: Pick<TransportDeps, 'kv' | 'log' | 'gateway'>,
  maxAge: number,
  completeUntil: () => number | undefined,
) {
  const channelPrefix = `slack/${gateway}/seen/`
  /** Each daemon has its own record of `completeUntil`. */
  const untilPrefix = `slack/${gateway}/whole/`
  const ownUntilKey = untilPrefix + randomUUID()
  const channels = new Map<string, Channel>()
  const unsaved = new Set<Channel>()

  /** Merges data about a channel into the known data. */
  function merge(update: Channel): Channel {
    const known = channels.get(keyOf(update)) ?? update
    addTo(known, update)
    putLast(channels, keyOf(update), known, MAX_CHANNELS)
    return known
  }

  /**
   * Remembers a channel with the messages that `update` names, and stores it later. A timer left by
   * `save` is harmless.
   */
  function remember(update: Channel): Channel {
    const channel = merge(update)
    // A public channel can become a private one, or be shared with another workspace.
    channel.type = update.type ?? channel.type
    channel.shared = update.shared ?? channel.shared
    if (unsaved.size === 0) setTimeout(save, SAVE_DELAY_MS).unref()
    unsaved.add(channel)
    return channel
  }

  /** Stores changes. Never rejects. */
  async function save(): Promise<void> {
    const changed = [...unsaved]
    unsaved.clear()
    const until = completeUntil()
    try {
      await Promise.all(changed.map(write))
      // After `maxAge`, the record of a dead daemon has no use.
      if (until !== undefined) await kv.set(ownUntilKey, until, { ttl: maxAge })
    } catch (error) {
      changed.forEach(remember)
      log.debug({ reason: reasonOf(error) }, 'the position up to which Slack was read could not be stored')
    }
  }

  /** Stores a channel, after merging what other daemons have stored. */
  async function write(channel: Channel): Promise<void> {
    const key = channelPrefix + keyOf(channel)
    const { value, data } = await read(key)
    channel.active = latestOf(channel.active)
    await kv.set(key, withUnknownFields(defined(channel), value, data), { ttl: CHANNEL_TTL_MS })
  }

  async function read(key: string) {
    const value = (await kv.get(key))?.value
    const { data } = channelSchema.safeParse(value)
    if (data) merge(data)
    return { value, data }
  }

  return {
    has: (channel: Channel) => channels.has(keyOf(channel)),
    remember,
    save,
    /**
     * Reads from the store: the channels, most recently active first, and the times up to which
     * other daemons had received all messages.
     */
    async load(): Promise<{ known: Channel[]; untils: number[] }> {
      await Promise.all((await kv.list(channelPrefix, MAX_CHANNELS)).items.map(read))
      const others = (await allKeys(kv, untilPrefix)).filter((key) => key !== ownUntilKey)
      const untils = await Promise.all(others.map(async (key) => Number((await kv.get(key))?.value ?? 0)))
      return { known: [...channels.values()].sort((a, b) => lastIn(b) - lastIn(a)), untils }
    },
  }
}

/** Adds what an update tells about a channel to what is known. */
function addTo(known: Channel, update: Channel): void {
  const { active } = known
  for (const [root, at] of Object.entries(update.active)) active[root] = Math.max(active[root] ?? 0, at)
  known.all ||= update.all
  known.mentions ||= update.mentions
  known.type ??= update.type
  known.shared ??= update.shared
  known.first = Math.min(known.first, update.first)
}

/** The threads with the latest messages. */
function latestOf(threads: Channel['active']): Channel['active'] {
  const sorted = Object.entries(threads).sort(([, a], [, b]) => a - b)
  return Object.fromEntries(sorted.slice(-MAX_KNOWN_THREADS))
}

/** The time of the last message in a channel. */
function lastIn({ active }: Channel): number {
  return Math.max(0, ...Object.values(active))
}
