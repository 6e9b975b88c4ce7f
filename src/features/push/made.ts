import { z } from 'zod'
import { type PushSubscription, pushSchema } from '../../config/schema/push.ts'
import { isJsonObject, type Json, type JsonObject, toJson } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import type { KeyValues } from '../../core/store.ts'
import { updateKv } from '../../core/update-kv.ts'

/** Signalled as `kv:KEY` whenever a subscription is created, changed or deleted. */
export const MADE_KEY = 'trivium:push-made'

/** `given`: the settings as passed to `subscription-create`, with secrets. Times are Unix ms. */
const madeSchema = z.object({
  given: z.record(z.string(), z.json()),
  by: z.string(),
  at: z.number(),
  updatedAt: z.number().exactOptional(),
  /** Its deletion has begun: nothing more is sent, and any daemon may finish it. */
  isEnding: z.boolean().exactOptional(),
})

export type MadeSubscription = z.infer<typeof madeSchema>
export type MadeByName = Readonly<Record<string, MadeSubscription>>

export type Made = ReturnType<typeof createMade>

/** Subscriptions created by calls. They are one value, so that changes are atomic and no signal is lost. */
export function createMade(kv: KeyValues) {
  return {
    all: async () => readMade((await kv.get(MADE_KEY))?.value),
    /**
     * `change` returns the new value, or undefined for no change. It may throw, and is called again
     * after a lost race.
     */
    change: (to: (known: MadeByName) => MadeByName | undefined) =>
      updateKv(kv, MADE_KEY, (current) => {
        const next = to(readMade(current))
        return next && { value: toJson(next) }
      }),
  }
}

function readMade(value: Json | undefined): MadeByName {
  const entries = Object.entries(isJsonObject(value) ? value : {}).flatMap(([name, raw]) => {
    const { data } = madeSchema.safeParse(raw)
    return data ? [[name, data] as const] : []
  })
  return Object.fromEntries(entries)
}

/** The usable ones. Logs those that this version cannot parse. */
export function usableOf(made: MadeByName, log: Log): PushSubscription[] {
  return Object.entries(made).flatMap(([name, { given, isEnding }]) => {
    if (isEnding) return []
    const { data, error } = pushSchema.safeParse(asInFile({ ...given, name }))
    if (error)
      log.warn({ subscription: name, reason: z.prettifyError(error) }, 'a stored subscription cannot be used')
    return data ? [data] : []
  })
}

/** Converts settings of a call to the keys of routes.yaml, such as `allowPrivate` to `allow-private`. */
export function asInFile(given: JsonObject): JsonObject {
  const entries = Object.entries(given).map(([key, value]) => {
    const isSettings = key === 'oauth' || key === 'retry'
    return [kebab(key), isSettings && isJsonObject(value) ? asInFile(value) : value]
  })
  return Object.fromEntries(entries)
}

function kebab(key: string): string {
  return key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}
