import { z } from 'zod'
import { type PushSubscription, pushSchema } from '../../config/schema/push.ts'
import { isJsonObject, type Json, type JsonObject, toJson } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import type { KeyValues } from '../../core/store.ts'
import { updateKv } from '../../core/update-kv.ts'

/** Signalled as `kv:KEY` whenever a subscription is made, changed or deleted. */
export const MADE_KEY = 'trivium:push-made'

/** `given`: the settings as `subscription-create` takes them, with their secrets. Times are Unix ms. */
const madeSchema = z.object({
  given: z.record(z.string(), z.json()),
  by: z.string(),
  at: z.number(),
  updatedAt: z.number().exactOptional(),
  /** Its deletion has begun: nothing is sent any more, and any daemon may complete it. */
  isEnding: z.boolean().exactOptional(),
})

export type MadeSubscription = z.infer<typeof madeSchema>
export type MadeByName = Readonly<Record<string, MadeSubscription>>

export type Made = ReturnType<typeof createMade>

/** Subscriptions made by calls. They are one value, so that each change is atomic and its signal is not lost. */
export function createMade(kv: KeyValues) {
  return {
    all: async () => readMade((await kv.get(MADE_KEY))?.value),
    /** `change` returns what is to be there, undefined to leave it; it may throw, and is called again after a lost race. */
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

/** Those that can be used. One that this version cannot read is logged. */
export function usableOf(made: MadeByName, log: Log): PushSubscription[] {
  return Object.entries(made).flatMap(([name, { given, isEnding }]) => {
    if (isEnding) return []
    const { data, error } = pushSchema.safeParse(asInFile({ ...given, name }))
    if (error)
      log.warn({ subscription: name, reason: z.prettifyError(error) }, 'a stored subscription cannot be used')
    return data ? [data] : []
  })
}

/** Settings of a call with the keys of routes.yaml: `allowPrivate` is `allow-private` there. */
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
