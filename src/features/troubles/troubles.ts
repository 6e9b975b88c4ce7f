import { z } from 'zod'
import { defineSkill, type Skill } from '../../core/skill.ts'
import type { Journal, KeyValues } from '../../core/store.ts'
import { type Trouble, troublesSchema } from '../../core/trouble.ts'
import { createKnownNames, type KnownNames } from '../../engine/known-names.ts'
import { createLastMessage } from '../../engine/last-message.ts'
import type { RefusalCount } from '../../engine/refusal-tally.ts'
import type { Sent } from '../../lib/person-identity.ts'
import { createAcknowledgements } from './acknowledgements.ts'
import { findTroubles } from './find-troubles.ts'
import { createFirstSeen } from './first-seen.ts'
import type { TroubleReadings } from './readings.ts'
import { createTroubleService } from './service.ts'
import { inOrder } from './trouble-order.ts'

export type Troubles = ReturnType<typeof createTroubles>

/**
 * The list of troubles, shared by the console, `status`, `top`, notifications and `GET
 * /v1/troubles`.
 */
export function createTroubles(deps: {
  /** Reads all inputs again; omits what cannot be read. Never throws. */
  read(): Promise<TroubleReadings>
  journal: Pick<Journal, 'search'>
  kv: Pick<KeyValues, 'get' | 'set'>
  now(): number
}) {
  const firstSeen = createFirstSeen(deps.kv, deps.now)
  const withLastGood = createLastGood(deps.journal)
  const names = createKnownNames(deps.journal)
  const acknowledgements = createAcknowledgements(deps.kv, deps.now)
  const list = async (): Promise<Trouble[]> => {
    const readings = await withNames(await deps.read(), names)
    const refusals = await Promise.all(readings.refusals.map(withLastGood))
    const { ok } = readings.store
    const found = await firstSeen(findTroubles({ ...readings, refusals }, deps.now()), ok)
    return acknowledgements.addTo(inOrder(found), ok)
  }
  return { list, service: createTroubleService({ list, acknowledgements, now: deps.now }) }
}

/** Names the people who wait as on other gateways. Without the names while they cannot be read. */
async function withNames(readings: TroubleReadings, names: KnownNames): Promise<TroubleReadings> {
  const { stored } = readings
  if (!stored) return readings
  const named = async <One extends Sent>(people: readonly One[]): Promise<One[]> => {
    const known = await names.ofSenders(people)
    return people.map((one, at) => {
      const name = known[at]
      return name === undefined ? one : { ...one, from: { ...one.from, name } }
    })
  }
  try {
    const [causes, waiting, unanswered] = await Promise.all([
      Promise.all(
        stored.causes.map(async (one) => (one.waiting ? { ...one, waiting: await named(one.waiting) } : one)),
      ),
      Promise.all(
        stored.waiting.map(async (one) => (one.people ? { ...one, people: await named(one.people) } : one)),
      ),
      named(stored.unanswered ? [stored.unanswered] : []),
    ])
    return { ...readings, stored: { ...stored, causes, waiting, unanswered: unanswered[0] } }
  } catch {
    return readings
  }
}

/**
 * Adds `lastGoodAt` to refusals without it, from the last accepted message in the journal. Refusals
 * only know deliveries since the start of the daemon.
 */
export function createLastGood(journal: Pick<Journal, 'search'>) {
  const lastMessageOf = createLastMessage(journal)
  /** The time of the last accepted message (Unix ms) by gateway; undefined if there was none. */
  const lastGood = new Map<string, number | undefined>()
  return async (refusal: RefusalCount): Promise<RefusalCount> => {
    const { gateway, lastGoodAt } = refusal
    if (lastGoodAt !== undefined) return refusal
    if (!lastGood.has(gateway)) {
      const last = await lastMessageOf(gateway).catch(() => undefined)
      if (last && last.searchedTo === undefined) lastGood.set(gateway, last.at)
    }
    const at = lastGood.get(gateway)
    return at === undefined ? refusal : { ...refusal, lastGoodAt: at }
  }
}

/** The skill that lists the troubles of all gateways. It is also a command and an HTTP call. */
export function troublesSkill(list: () => Promise<Trouble[]>, now: () => number): Skill {
  return defineSkill<unknown>({
    name: 'troubles',
    description:
      'Lists what is wrong or waits for a person, in the order of urgency: since when, how many, and what to do.',
    args: z.strictObject({}),
    output: troublesSchema,
    metadata: { annotations: { readOnlyHint: true } },
    run: async () => ({ at: now(), troubles: await list() }),
  })
}
