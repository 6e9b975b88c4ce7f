import { textAt } from '../core/json.ts'
import { timeOf } from '../core/message-id.ts'
import type { MessageSearch, Note, Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { patternOf } from '../lib/error-pattern.ts'
import { DISPATCH_QUEUE } from './dispatch-queue.ts'
import type { LetterGroup } from './letter-groups.ts'
import { createRetryingReader, type RetryingMessages } from './retrying-messages.ts'

/** Handled messages. `more`: there are others. `last`: when the newest arrived (Unix ms). */
type Handled = { count: number; more?: true; last: number }

/** What is known since the last failure of some dead letters. */
export type Recovery = {
  /**
   * Messages with an event of the letters that arrived after the last failure, and are done. They prove
   * nothing about the letters, as the skill may fail only for some messages.
   */
  alike?: Handled
  /** Messages with an event of the letters that arrived between the first and the last failure, and are done. */
  meanwhile?: Handled
  /** If there are none: all messages of the route that arrived after the last failure and are done. */
  others?: Handled
  /**
   * Messages that failed for this cause, were tried again after its first letter died, and are done.
   * `last`: when the newest of them was handled; `id`: its message.
   */
  retried?: Handled & { id: string }
  /** Messages that failed for this cause, in any route, and are tried again. */
  trying?: RetryingMessages
}

/** Maximum number of messages that are counted. */
const MOST_COUNTED = 100
/** Maximum number of retried messages whose histories are read. */
const MOST_READ = 30
/** Maximum number of events that are searched for. */
const MOST_EVENTS = 3

/** Maximum number of causes for which a recovery is looked for. */
const MOST_CAUSES = 10

type Search = Pick<MessageSearch, 'route' | 'since' | 'until' | 'event' | 'attempts' | 'limit'>
type Times = Pick<Search, 'since' | 'until' | 'attempts'>
type Group = Omit<LetterGroup, 'messageId'>

/** Makes the function that adds to the first causes what speaks for a retry. */
export function createRecoveries(journal: Pick<Store['journal'], 'search' | 'history'>) {
  const recoveryOf = createRecovery(journal)
  const readRetrying = createRetryingReader(journal)
  return async (groups: readonly LetterGroup[]): Promise<(LetterGroup & { recovery?: Recovery })[]> => {
    const retrying = groups.some(({ queue }) => queue === DISPATCH_QUEUE) ? await readRetrying() : undefined
    return Promise.all(
      groups.map(async (group, index) => {
        const recovery = index < MOST_CAUSES ? await recoveryOf(group) : undefined
        const trying = recovery && retrying?.(group)
        return { ...group, ...(recovery && { recovery: { ...recovery, ...defined({ trying }) } }) }
      }),
    )
  }
}

/** Makes the function that finds what speaks for a retry of some dead letters; undefined if unknown. */
function createRecovery(journal: Pick<Store['journal'], 'search' | 'history'>) {
  /** The messages of a route that arrived in a time, and are done. */
  async function handled(
    search: Omit<Search, 'limit'>,
    not: ReadonlySet<string>,
  ): Promise<Handled | undefined> {
    const { found: all, more } = await done({ ...search, limit: MOST_COUNTED })
    const found = all.filter(({ message }) => !not.has(message.id))
    const [newest] = found
    return newest && { count: found.length, ...(more && { more }), last: timeOf(newest.message.id) }
  }

  async function done(search: Search) {
    const { found, next } = await journal.search({ ...search, outcomes: ['done'], isPartial: true })
    return { found, more: next === undefined ? undefined : (true as const) }
  }

  /** The same, with an event of the group. */
  async function alike(group: Group, times: Times, not: ReadonlySet<string>): Promise<Handled | undefined> {
    const events = (group.events ?? []).slice(0, MOST_EVENTS)
    const searches = events.map((event) => handled({ route: group.group, event, ...times }, not))
    const all = (await Promise.all(searches)).filter((one) => one !== undefined)
    if (all.length === 0) return undefined
    const count = all.reduce((sum, one) => sum + one.count, 0)
    const last = Math.max(...all.map((one) => one.last))
    return { count, last, ...(all.some(({ more }) => more) && { more: true as const }) }
  }

  async function retried(group: Group) {
    const { found, more } = await done({ route: group.group, attempts: { min: 2 }, limit: MOST_READ })
    const proofs = await Promise.all(
      found.map(async ({ message: { id } }) => {
        const at = doneAfterRetry(await journal.history(id), group)
        return at === undefined || at < group.first ? [] : [{ id, at }]
      }),
    )
    return { proofs: proofs.flat().sort((one, other) => other.at - one.at), more }
  }

  return async (group: Group): Promise<Recovery | undefined> => {
    if (group.queue !== DISPATCH_QUEUE) return undefined
    const { proofs, more } = await retried(group)
    const [newest] = proofs
    // A retried letter may have arrived after the last failure of those that are left.
    const not = new Set(proofs.map(({ id }) => id))
    // A failed retry is not a new failure, so it changes nothing here.
    const { first, failingSince = first, lastNew } = group
    const [same, meanwhile] = await Promise.all([
      alike(group, { since: lastNew }, not),
      // After a second attempt, a message may have been handled when the failure was over.
      alike(group, { since: failingSince, until: lastNew, attempts: { max: 1 } }, not),
    ])
    return defined({
      alike: same,
      meanwhile,
      others: same ? undefined : await handled({ route: group.group, since: lastNew }, not),
      retried: newest && { count: proofs.length, ...defined({ more }), last: newest.at, id: newest.id },
    })
  }
}

/** When a message that failed for this cause was handled in a later attempt; undefined if it was not. */
function doneAfterRetry(history: readonly Note[], { code, pattern }: Group): number | undefined {
  const work = history.filter(({ road }) => road === 'dispatch')
  const failed = work.findLastIndex(({ what }) => what === 'dead' || what === 'failed')
  const detail = work[failed]?.detail
  if (textAt(detail, 'code') !== code || patternOf(textAt(detail, 'error') ?? '') !== pattern)
    return undefined
  return work.slice(failed + 1).find(({ what }) => what === 'done')?.at
}
