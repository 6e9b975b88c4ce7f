import { z } from 'zod'
import { authorName } from '../../core/author.ts'
import { isJsonObject, type Json } from '../../core/json.ts'
import type { KeyValues } from '../../core/store.ts'
import { readStoredList } from '../../core/stored-entries.ts'
import type { Trouble } from '../../core/trouble.ts'
import { MINUTE } from '../../core/units.ts'
import { updateKv } from '../../core/update-kv.ts'
import { defined } from '../../lib/defined.ts'

/** The key of the value with all acknowledgements. */
const KEY = 'troubles-acknowledged'
/**
 * How long (ms) an acknowledgement is kept after its trouble was last seen. It survives a retry of
 * a dead letter that fails again, and a short recovery.
 */
const RETENTION_MS = 15 * MINUTE
const RENEW_INTERVAL = RETENTION_MS / 5
/** A trouble with this many times the number of then counts again. */
const WORSE = 10

/** Troubles whose `since` is the start of their cause: a later start is another trouble. */
const STARTS_WITH_CAUSE = new Set<Trouble['code']>(['dead-letters', 'paused', 'approval-waiting'])

/** Times are Unix ms. `count` and `severity`: of the trouble, when it was acknowledged. */
const acknowledgementSchema = z.object({
  key: z.string(),
  at: z.number(),
  by: z.string().transform(authorName),
  reason: z.string().exactOptional(),
  /** When it ends by itself. */
  until: z.number().exactOptional(),
  count: z.number(),
  severity: z.enum(['error', 'warning', 'info']),
  /** When a daemon last saw the trouble, at an interval of three minutes. */
  seenAt: z.number(),
})

type Acknowledgement = z.infer<typeof acknowledgementSchema>

export type Acknowledgements = ReturnType<typeof createAcknowledgements>

/** Who takes care of which trouble, in one value of the store that every daemon reads. */
export function createAcknowledgements(kv: Pick<KeyValues, 'get' | 'set'>, now: () => number) {
  /** Since when this daemon can read the store (Unix ms). */
  let readableSince = now()
  let known: readonly Acknowledgement[] = []

  const change = async (next: (all: readonly Acknowledgement[]) => Acknowledgement[] | undefined) => {
    const value = await updateKv(kv, KEY, (stored) => {
      const { entries, write } = read(stored)
      const changed = next(entries)
      return changed && { value: { acknowledgements: write(changed) } }
    })
    known = read(value).entries
  }
  const refresh = (troubles: readonly Trouble[]) => {
    const byKey = new Map(troubles.map((trouble) => [trouble.key, trouble]))
    const at = now()
    return change((all) => {
      const next = all
        .filter((one) => isInForce(one, byKey.get(one.key), at, readableSince))
        .map((one) =>
          byKey.has(one.key) && at - one.seenAt >= RENEW_INTERVAL ? { ...one, seenAt: at } : one,
        )
      return next.length === all.length && next.every((one, index) => one === all[index]) ? undefined : next
    })
  }

  return {
    /**
     * Adds to the troubles who takes care of them, and puts these last. `mayRead`: whether the store
     * is available; otherwise those last known count.
     */
    async addTo(troubles: readonly Trouble[], mayRead: boolean): Promise<Trouble[]> {
      const isRead =
        mayRead &&
        (await refresh(troubles).then(
          () => true,
          () => false,
        ))
      if (!isRead) readableSince = now()
      const current = known.filter((one) => !hasExpired(one, now()))
      const all = new Map(current.map((one) => [one.key, one]))
      const marked = troubles.map((trouble): Trouble => {
        const { at, by, reason, until } = all.get(trouble.key) ?? {}
        if (at === undefined || by === undefined) return trouble
        return { ...trouble, acknowledged: { at, by, ...defined({ reason, until }) } }
      })
      return [
        ...marked.filter(({ acknowledged }) => !acknowledged),
        ...marked.filter(({ acknowledged }) => acknowledged),
      ]
    },
    async add({ key, count, severity }: Trouble, by: string, given: { reason?: string; until?: number }) {
      const at = now()
      const one = { key, at, by, ...given, count, severity, seenAt: at }
      await change((all) => [...all.filter((other) => other.key !== key), one])
    },
    /** Resolves with whether there was one. */
    async remove(key: string): Promise<boolean> {
      let existed = false
      await change((all) => {
        existed = all.some((one) => one.key === key)
        return existed ? all.filter((one) => one.key !== key) : undefined
      })
      return existed
    },
  }
}

function read(value: Json | undefined) {
  return readStoredList(acknowledgementSchema, isJsonObject(value) ? value.acknowledgements : undefined)
}

function hasExpired({ until }: Acknowledgement, at: number): boolean {
  return until !== undefined && until <= at
}

/**
 * Whether an acknowledgement still counts. `trouble`: undefined if it is not seen now. The time
 * without a daemon or without the store counts as if the trouble had lasted.
 */
function isInForce(one: Acknowledgement, trouble: Trouble | undefined, at: number, readableSince: number) {
  if (hasExpired(one, at)) return false
  if (at - Math.max(one.seenAt, readableSince) > RETENTION_MS) return false
  return trouble === undefined || !isOther(one, trouble)
}

/** Whether a trouble has become worse, or has ended and begun again. */
function isOther(one: Acknowledgement, { code, severity, count, since }: Trouble): boolean {
  if (severity === 'error' && one.severity !== 'error') return true
  if (count >= WORSE * Math.max(1, one.count)) return true
  return STARTS_WITH_CAUSE.has(code) && since !== undefined && since > one.at
}
