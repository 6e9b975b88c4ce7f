import { z } from 'zod'
import type { InternalSkill } from '../../core/internal-skills.ts'
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import { pauseFields } from '../../core/pause-record.ts'
import type { KeyValues } from '../../core/store.ts'
import { readStoredList } from '../../core/stored-entries.ts'
import { updateKv } from '../../core/update-kv.ts'

/**
 * One pause. With `drop`, the messages of a conversation do not wait: they are recorded as handled
 * by a person.
 */
const pauseSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.enum(['gateway', 'route', 'skill']), name: z.string(), ...pauseFields }),
  z.object({
    kind: z.literal('conversation'),
    gateway: z.string(),
    name: z.string(),
    ...pauseFields,
    drop: z.boolean().exactOptional(),
  }),
])
export type Pause = z.infer<typeof pauseSchema>

/**
 * A request, made `at` (Unix ms), to cancel the running attempt on a message. `run-cancel` removes
 * the request when the attempt has ended, or ignores its signal. If the daemon with the attempt is
 * killed, the request also ends the repetition of that attempt. If the daemon that made the request
 * is killed, the request is kept for an hour. `isGivenUp`: no attempt was running, and the next one
 * ends before it runs.
 */
const cancelSchema = z.object({
  messageId: z.string(),
  reason: z.string(),
  by: z.string(),
  at: z.number(),
  isGivenUp: z.boolean().exactOptional(),
})
export type Cancel = z.infer<typeof cancelSchema>

/** A pause that has ended. `endedBy`: who resumed it; absent if it ended by itself. */
const endedSchema = z.intersection(
  pauseSchema,
  z.object({ endedAt: z.number(), endedBy: z.string().exactOptional() }),
)
export type EndedPause = z.infer<typeof endedSchema>

export type PauseState = {
  pauses: Pause[]
  cancels: Cancel[]
  /** Oldest first. */
  ended?: EndedPause[]
}

/** The key of the value with all pauses. */
export const PAUSES_KEY = 'pauses'
/**
 * Name of the route, and of the skill, that handle clicks on take-over buttons. These clicks are
 * handled even while their conversation is paused.
 */
export const HANDOVER_CLICK: InternalSkill = 'handover-click'
export const NOTHING_PAUSED: PauseState = { pauses: [], cancels: [] }

export type PauseRecords = ReturnType<typeof createPauseRecords>

/** All pauses, in one value of the store that every daemon reads. */
export function createPauseRecords(kv: Pick<KeyValues, 'get' | 'set'>) {
  return {
    load: async () => readState((await kv.get(PAUSES_KEY))?.value).state,
    /** Changes the state, unless `change` returns undefined. Resolves with the current state. */
    async change(change: (state: PauseState) => PauseState | undefined): Promise<PauseState> {
      const value = await updateKv(kv, PAUSES_KEY, (current) => {
        const { state, write } = readState(current)
        const next = change(state)
        return next && { value: write(next) }
      })
      return readState(value).state
    },
  }
}

/**
 * Reads the stored state. Ignores pauses of a kind that only a newer version knows; `write` keeps
 * them.
 */
function readState(value: Json | undefined) {
  const raw = isJsonObject(value) ? value : {}
  const pauses = readStoredList(pauseSchema, raw.pauses)
  const cancels = readStoredList(cancelSchema, raw.cancels)
  const ended = readStoredList(endedSchema, raw.ended)
  const hasEnded = raw.ended === undefined ? {} : { ended: ended.entries }
  const state: PauseState = { pauses: pauses.entries, cancels: cancels.entries, ...hasEnded }
  const write = (next: PauseState): JsonObject => ({
    ...raw,
    pauses: pauses.write(next.pauses),
    cancels: cancels.write(next.cancels),
    ...(next.ended && { ended: ended.write(next.ended) }),
  })
  return { state, write }
}

/** The fields that identify the object of a pause. */
type PauseTarget =
  | { kind: 'gateway' | 'route' | 'skill'; name: string }
  | { kind: 'conversation'; gateway: string; name: string }

/** Whether two pauses are of the same object. */
export function isSame(one: PauseTarget, other: PauseTarget): boolean {
  return one.kind === other.kind && one.name === other.name && gatewayOf(one) === gatewayOf(other)
}

/** The gateway of a pause; undefined for a route or skill. */
export function gatewayOf(pause: PauseTarget): string | undefined {
  if (pause.kind === 'gateway') return pause.name
  return pause.kind === 'conversation' ? pause.gateway : undefined
}
