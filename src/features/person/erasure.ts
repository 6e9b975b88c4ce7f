import type { Call } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { isOperator, isViewer } from '../../core/identity.ts'
import { type JsonObject, toJson } from '../../core/json.ts'
import type { ServiceOf } from '../../core/operation.ts'
import type { Store } from '../../core/store.ts'
import type { LongWork } from '../../engine/long-work.ts'
import type { Outside } from '../../lib/copies-at.ts'
import { defined } from '../../lib/defined.ts'
import { uncounted } from './before-restore.ts'
import type { Wanted } from './collect.ts'
import { withConversationTitles } from './conversation-titles.ts'
import type { DataDirs } from './data-dirs.ts'
import type { Elsewhere } from './elsewhere.ts'
import { KIND } from './erase.ts'
import type { RequireGateways } from './known-gateways.ts'
import type { CountedRecords, LastCounts } from './last-counts.ts'
import type { Mentions } from './mentions.ts'
import type * as operations from './operations.ts'
import type { Person } from './person.ts'
import type { Place, Subject } from './place.ts'
import { talliesOf } from './tallies.ts'

type Erase = ReturnType<typeof createErasure>

/** Makes the function that counts what would be erased and, with `confirm`, erases it as a job. */
export function createErasure(deps: {
  places: readonly Place[]
  journal: Pick<Store['journal'], 'search'>
  collect(wanted: Wanted, signal: AbortSignal): Promise<Person>
  subjectOf(person: Person): Subject
  mentions(subject: Subject, signal: AbortSignal): Promise<Mentions>
  elsewhere(identities: readonly string[], signal: AbortSignal): Promise<{ elsewhere?: Elsewhere }>
  work: Pick<LongWork, 'begin' | 'wait'>
  outside(person: Person, signal: AbortSignal): Promise<Outside>
  dataDir: string
}) {
  const { places, work } = deps
  return async (
    wanted: Wanted & { counted?: CountedRecords },
    target: JsonObject,
    { confirm, wait }: { confirm: boolean; wait: number },
    call: Call,
  ) => {
    const elsewhere = await deps.elsewhere(wanted.identities, call.signal)
    if (confirm) {
      const job = { kind: KIND, target, data: toJson(wanted), total: places.length }
      const { id } = await work.begin(job, call)
      return { confirm, job: await work.wait(id, wait, call.signal), ...elsewhere }
    }
    const subject = deps.subjectOf(await deps.collect(wanted, call.signal))
    const tallies = await talliesOf(places, subject, call.signal)
    const counts = { ...tallies, openItems: await withConversationTitles(tallies.openItems, deps.journal) }
    const mentions = wanted.identities.length > 0 && { mentions: await deps.mentions(subject, call.signal) }
    const outside = { outside: await deps.outside(subject.person, call.signal) }
    return { confirm, ...counts, ...mentions, ...elsewhere, ...outside, ...(await uncounted(deps.dataDir)) }
  }
}

type PersonDeps = {
  erase: Erase
  requireGateways: RequireGateways
  requireData(identities: readonly string[], signal: AbortSignal): Promise<void>
  lastCounts: LastCounts
  dirs: Pick<DataDirs, 'hasOthers'>
}

/** `person-erase`: counts, or erases with the last count, to which the proof compares itself. */
export function personErasure({ erase, lastCounts, dirs, ...deps }: PersonDeps) {
  const operation: ServiceOf<typeof operations.people>['erase'] = async (
    { identity, reference, counted, ...options },
    call,
  ) => {
    requireOperator(call, 'Erasing a person')
    await deps.requireGateways(identity, call.signal)
    // Another data directory may have data that this daemon does not see.
    if (options.confirm && !(await dirs.hasOthers())) await deps.requireData(identity, call.signal)
    const before = options.confirm ? lastCounts.before(identity, counted) : {}
    const erased = await erase({ identities: identity, ...before }, defined({ reference }), options, call)
    if ('counts' in erased) lastCounts.remember(identity, erased)
    return erased
  }
  return operation
}

/** `message-erase`: the erasure of messages, without the other data of their senders. */
export function messageErasure(erase: Erase) {
  return {
    async erase({ id, reference, ...options }, call) {
      requireOperator(call, 'Erasing messages')
      const messages = [...new Set(id)]
      const target = { messages: messages.length, ...defined({ reference }) }
      return erase({ identities: [], messages }, target, options, call)
    },
  } satisfies ServiceOf<typeof operations.messageErasure>
}

export function requireOperator({ caller }: Call, what: string): void {
  if (isOperator(caller) && !isViewer(caller)) return
  throw new TriviumError('forbidden', { what, reason: 'it requires an operator' })
}
