import type { Call } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { isOperator, isViewer } from '../../core/identity.ts'
import { type JsonObject, toJson } from '../../core/json.ts'
import type { ServiceOf } from '../../core/operation.ts'
import type { Store } from '../../core/store.ts'
import type { LongWork } from '../../engine/long-work.ts'
import { rowOf } from '../../engine/search.ts'
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
import type { FoundMentions, Mentions } from './mentions.ts'
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

type MessageDeps = {
  requireGateways: RequireGateways
  mentions(identities: readonly string[], signal: AbortSignal): Promise<FoundMentions>
}

/**
 * `message-erase`: the erasure of messages, without the other data of their senders. With `naming`,
 * those of others that name a person: `found` has them, and `mentions` says how far was searched.
 */
export function messageErasure(erase: Erase, { requireGateways, mentions }: MessageDeps) {
  return {
    async erase({ id = [], naming, reference, ...options }, call) {
      requireOperator(call, 'Erasing messages')
      if ((id.length === 0) === (naming === undefined))
        throw new TriviumError('skill_args_invalid', {
          name: 'message-erase',
          details: 'expected the ids of messages, or `naming`, the person whom messages of others name',
        })
      if (naming) await requireGateways(naming, call.signal)
      const named = naming && (await mentions(naming, call.signal))
      const messages = named ? named.found.map(({ message }) => message.id) : [...new Set(id)]
      const target = { messages: messages.length, ...defined({ reference }) }
      const shown = named && shownMentions(named)
      // Nothing begins without messages.
      const confirm = options.confirm && messages.length > 0
      const erased = await erase({ identities: [], messages }, target, { ...options, confirm }, call)
      return { ...erased, ...shown }
    },
  } satisfies ServiceOf<typeof operations.messageErasure>
}

function shownMentions({ found, ...searched }: FoundMentions) {
  const rows = found.map(({ message, outcome }) => rowOf(message, outcome))
  return { mentions: { ...searched, messages: found.length }, found: rows }
}

export function requireOperator({ caller }: Call, what: string): void {
  if (isOperator(caller) && !isViewer(caller)) return
  throw new TriviumError('forbidden', { what, reason: 'it requires an operator' })
}
