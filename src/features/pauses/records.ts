import { z } from 'zod'
import type { KeyValues } from '../../core/store.ts'
import { updateKv } from '../../core/update-kv.ts'

const common = {
  /** Unix ms. */
  since: z.number(),
  by: z.string(),
  reason: z.string().exactOptional(),
}

/**
 * One pause. A conversation belongs to a gateway; its pause ends at `until` (Unix ms). With `drop`, its
 * messages need no skill.
 */
const pauseSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.enum(['gateway', 'route', 'skill']), name: z.string(), ...common }),
  z.object({
    kind: z.literal('conversation'),
    gateway: z.string(),
    name: z.string(),
    ...common,
    until: z.number().exactOptional(),
    drop: z.boolean().exactOptional(),
  }),
])
export type Pause = z.infer<typeof pauseSchema>

/**
 * A running attempt to be cancelled, kept until the message is a dead letter, so that a kill in between has
 * no effect.
 */
const cancelSchema = z.object({ messageId: z.string(), reason: z.string(), by: z.string(), at: z.number() })
export type Cancel = z.infer<typeof cancelSchema>

const stateSchema = z.object({ pauses: z.array(pauseSchema), cancels: z.array(cancelSchema) })
export type PauseState = z.infer<typeof stateSchema>

export const PAUSES_KEY = 'pauses'
/** The route and skill of clicks on take-over buttons. A pause of the conversation does not hold them. */
export const HANDOVER_CLICK = 'handover-click'
export const NOTHING_PAUSED: PauseState = { pauses: [], cancels: [] }

/** All pauses, in one value of the store that every daemon reads. */
export function createPauseRecords(kv: Pick<KeyValues, 'get' | 'set'>) {
  const read = (value: unknown) => stateSchema.safeParse(value).data ?? NOTHING_PAUSED
  return {
    load: async () => read((await kv.get(PAUSES_KEY))?.value),
    /** `change` returns undefined if nothing changes. Returns the current state. */
    async change(change: (state: PauseState) => PauseState | undefined): Promise<PauseState> {
      const value = await updateKv(kv, PAUSES_KEY, (current) => {
        const next = change(read(current))
        return next && { value: next }
      })
      return read(value)
    },
  }
}

export function isSame(one: Pause, other: Pause): boolean {
  return one.kind === other.kind && one.name === other.name && gatewayOf(one) === gatewayOf(other)
}

export function gatewayOf(pause: Pause): string | undefined {
  if (pause.kind === 'gateway') return pause.name
  return pause.kind === 'conversation' ? pause.gateway : undefined
}
