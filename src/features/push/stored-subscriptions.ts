import { z } from 'zod'
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import { isUnusableHeader } from '../../core/request-headers.ts'
import type { KeyValues } from '../../core/store.ts'
import { readStoredRecord } from '../../core/stored-entries.ts'
import { updateKv } from '../../core/update-kv.ts'
import { type PushSubscription, pushSchema } from './schema.ts'

/** Signalled as `kv:KEY` whenever a subscription is created, changed or deleted. */
export const STORED_KEY = 'trivium:push-made'

const storedSchema = z.object({
  /** The settings in the form of `subscription-create`, with secrets. */
  given: z.record(z.string(), z.json()),
  /** The caller that created it. */
  by: z.string(),
  /** When it was created (Unix ms). */
  at: z.number(),
  /** When it was last changed (Unix ms). */
  updatedAt: z.number().exactOptional(),
  /** Its deletion has begun: nothing more is sent, and any daemon may finish the deletion. */
  isEnding: z.boolean().exactOptional(),
})

export type StoredSubscription = z.infer<typeof storedSchema>
export type StoredByName = Readonly<Record<string, StoredSubscription>>

export type StoredSubscriptions = ReturnType<typeof createStoredSubscriptions>

/**
 * The subscriptions that calls created. They are one value, so that changes are atomic and no
 * signal is lost.
 */
export function createStoredSubscriptions(kv: KeyValues) {
  return {
    all: async (): Promise<StoredByName> => read((await kv.get(STORED_KEY))?.value).entries,
    /**
     * `change` returns the new value, or undefined for no change. It may throw. It is called again
     * if another daemon changes the value meanwhile. `isUnknown`: whether a newer version has
     * stored a subscription of this name.
     */
    change: (
      change: (before: StoredByName, isUnknown: (name: string) => boolean) => StoredByName | undefined,
    ) =>
      updateKv(kv, STORED_KEY, (current) => {
        const { entries, isUnknown, write } = read(current)
        const next = change(entries, isUnknown)
        return next && { value: write(next) }
      }),
  }
}

const read = (value: Json | undefined) => readStoredRecord(storedSchema, value)

/**
 * The subscriptions that are not being deleted. Logs and leaves out those whose settings this
 * version cannot use.
 */
export function usableOf(stored: StoredByName, log: Log): PushSubscription[] {
  return Object.entries(stored).flatMap(([name, { given, isEnding }]) => {
    if (isEnding) return []
    const { settings, dropped } = withoutUnusableHeaders(given)
    if (dropped.length > 0)
      log.warn({ subscription: name, headers: dropped }, 'headers of a stored subscription are not sent')
    const { data, error } = pushSchema.safeParse(asInFile({ ...settings, name }))
    if (error)
      log.warn({ subscription: name, reason: z.prettifyError(error) }, 'a stored subscription cannot be used')
    return data ? [data] : []
  })
}

/** Earlier versions stored headers that new subscriptions cannot have, such as `Host`. */
function withoutUnusableHeaders(settings: JsonObject): { settings: JsonObject; dropped: string[] } {
  const { headers } = settings
  const dropped = isJsonObject(headers) ? Object.keys(headers).filter(isUnusableHeader) : []
  if (!isJsonObject(headers) || dropped.length === 0) return { settings, dropped }
  const usable = Object.entries(headers).filter(([name]) => !isUnusableHeader(name))
  return { settings: { ...settings, headers: Object.fromEntries(usable) }, dropped }
}

/**
 * Converts settings of a call to the keys of routes.yaml, such as `allowPrivate` to
 * `allow-private`.
 */
export function asInFile(settings: JsonObject): JsonObject {
  const entries = Object.entries(settings).map(([key, value]) => {
    // The keys of other mappings, such as headers, are not settings.
    const isSection = key === 'oauth' || key === 'retry'
    return [kebab(key), isSection && isJsonObject(value) ? asInFile(value) : value]
  })
  return Object.fromEntries(entries)
}

function kebab(key: string): string {
  return key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}
