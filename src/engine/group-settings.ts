import { z } from 'zod'
import type { Json } from '../core/json.ts'
import { matchSchema, type RouteMatch } from '../core/match.ts'
import { isStoreAway } from '../core/reachable.ts'
import type { Store } from '../core/store.ts'
import { readStoredRecord } from '../core/stored-entries.ts'
import { updateKv } from '../core/update-kv.ts'

/** Settings of a consumer group: filter and delivery limit. */
export type GroupSettings = { match?: RouteMatch; maxDeliveries?: number }

const NONE: GroupSettings = {}

/** One key for all groups; every daemon keeps it in memory. */
const KEY = 'trivium:groups'
/** Pause (ms) between attempts to read the settings while the store is away. */
const PAUSE = 2_000
/** Above this number, the settings of removed groups are deleted. */
const MANY = 500

const groupSchema = z.object({
  match: matchSchema.exactOptional(),
  maxDeliveries: z.int().min(1).exactOptional(),
})
const settingsSchema = z.record(z.string(), groupSchema)

/**
 * Settings of consumer groups given by subscribers. Those of routes.yaml (`configured`) take
 * precedence.
 */
export function createGroupSettings(
  store: Pick<Store, 'kv' | 'topics' | 'onSignal'>,
  configured: (topic: string, group: string) => GroupSettings | undefined,
) {
  const { kv, topics } = store
  const nameOf = (topic: string, group: string) => `${topic}\n${group}`
  let known: Promise<Record<string, GroupSettings>> | undefined
  /**
   * The settings that were read last. On a Redis Cluster, groups are served with them while the
   * master that has the settings is away.
   */
  let last: Record<string, GroupSettings> | undefined
  let failedAt = Number.NEGATIVE_INFINITY
  let isFollowed = false
  const parse = (value: Json | undefined) => settingsSchema.parse(value ?? {})

  const load = () => {
    if (!isFollowed) {
      isFollowed = true
      store.onSignal(`kv:${KEY}`, () => {
        known = undefined
      })
    }
    if (known) return known
    if (last && performance.now() - failedAt < PAUSE) return Promise.resolve(last)
    const loading = kv.get(KEY).then((found) => {
      last = parse(found?.value)
      return last
    })
    known = loading
    return loading.catch((error: unknown) => {
      if (known === loading) known = undefined
      if (!last || !isStoreAway(error)) throw error
      failedAt = performance.now()
      return last
    })
  }

  const change = async (edit: (all: Record<string, GroupSettings>) => Record<string, GroupSettings>) => {
    await updateKv(kv, KEY, async (value) => {
      const all = parse(value)
      // Keeps settings of a newer version.
      const { write } = readStoredRecord(groupSchema, value)
      return { value: write(await withoutGone(edit(all))) }
    })
    known = undefined
  }

  async function withoutGone(all: Record<string, GroupSettings>): Promise<Record<string, GroupSettings>> {
    if (Object.keys(all).length < MANY) return all
    const there = new Set((await topics.groups()).map(({ topic, group }) => nameOf(topic, group)))
    return Object.fromEntries(Object.entries(all).filter(([name]) => there.has(name)))
  }

  return {
    async of(topic: string, group: string): Promise<GroupSettings> {
      const given = (await load())[nameOf(topic, group)]
      const fixed = configured(topic, group)
      return given || fixed ? { ...given, ...fixed } : NONE
    },
    /** Updates the given settings and keeps the others. */
    async set(topic: string, group: string, settings: GroupSettings): Promise<void> {
      if (Object.keys(settings).length === 0) return
      const name = nameOf(topic, group)
      await change((all) => ({ ...all, [name]: { ...all[name], ...settings } }))
    },
    async remove(topic: string, group: string): Promise<void> {
      const name = nameOf(topic, group)
      if (!(name in (await load()))) return
      await change(({ [name]: _, ...rest }) => rest)
    },
  }
}
