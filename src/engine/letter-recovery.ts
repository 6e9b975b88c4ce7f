import { textAt } from '../core/json.ts'
import { timeOf } from '../core/message-id.ts'
import type { MessageSearch, Note, Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { patternOf } from '../lib/error-pattern.ts'
import { RETRIED } from '../lib/undone-retries.ts'
import { DISPATCH_QUEUE } from './dispatch-queue.ts'
import type { LetterGroup } from './letter-groups.ts'

/** Handled messages. `more`: there are others. `last`: when the newest arrived (Unix ms). */
type Handled = { count: number; more?: true; last: number }

/** What is known since the last failure of some dead letters. */
export type Recovery = {
  /** Messages with an event of the letters that arrived after the last failure, and are done. */
  alike?: Handled
  /** If there are none: all messages of the route that arrived after the last failure and are done. */
  others?: Handled
  /**
   * Letters of this cause that were retried since its first letter died, and are done. `last`: when
   * the newest of them was handled; `id`: its message.
   */
  retried?: Handled & { id: string }
}

/** Maximum number of messages that are counted. */
const MOST_COUNTED = 100
/** Maximum number of retried messages whose histories are read. */
const MOST_READ = 30
/** Maximum number of events that are searched for. */
const MOST_EVENTS = 3

/** Maximum number of causes for which a recovery is looked for. */
const MOST_CAUSES = 10

type Group = Omit<LetterGroup, 'messageId'>

/** Makes the function that adds to the first causes what speaks for a retry. */
export function createRecoveries(journal: Pick<Store['journal'], 'search' | 'history'>) {
  const recoveryOf = createRecovery(journal)
  return (groups: readonly LetterGroup[]): Promise<(LetterGroup & { recovery?: Recovery })[]> =>
    Promise.all(
      groups.map(async (group, index) => {
        const recovery = index < MOST_CAUSES ? await recoveryOf(group) : undefined
        return { ...group, ...defined({ recovery }) }
      }),
    )
}

/** Makes the function that finds what speaks for a retry of some dead letters; undefined if unknown. */
function createRecovery(journal: Pick<Store['journal'], 'search' | 'history'>) {
  /** The messages of a route that arrived after the last failure, and are done. */
  async function handled(
    { group: route, last: since }: Group,
    not: ReadonlySet<string>,
    event?: string,
  ): Promise<Handled | undefined> {
    const { found: all, more } = await done({ route, since, event, limit: MOST_COUNTED })
    const found = all.filter(({ message }) => !not.has(message.id))
    const [newest] = found
    return newest && { count: found.length, ...(more && { more }), last: timeOf(newest.message.id) }
  }

  async function done(search: Pick<MessageSearch, 'route' | 'since' | 'event' | 'attempts' | 'limit'>) {
    const { found, next } = await journal.search({ ...search, outcomes: ['done'], isPartial: true })
    return { found, more: next === undefined ? undefined : (true as const) }
  }

  async function alike(group: Group, not: ReadonlySet<string>): Promise<Handled | undefined> {
    const events = (group.events ?? []).slice(0, MOST_EVENTS)
    const all = (await Promise.all(events.map((event) => handled(group, not, event)))).filter(
      (one) => one !== undefined,
    )
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
    const same = await alike(group, not)
    return defined({
      alike: same,
      others: same ? undefined : await handled(group, not),
      retried: newest && { count: proofs.length, ...defined({ more }), last: newest.at, id: newest.id },
    })
  }
}

/** When a message that died of this cause was handled after a retry; undefined if it was not. */
function doneAfterRetry(history: readonly Note[], { code, pattern }: Group): number | undefined {
  const work = history.filter(({ road }) => road === 'dispatch')
  const died = work.findLastIndex(({ what }) => what === 'dead')
  const detail = work[died]?.detail
  if (textAt(detail, 'code') !== code || patternOf(textAt(detail, 'error') ?? '') !== pattern)
    return undefined
  const since = work.slice(died + 1)
  return since.some(({ what }) => what === RETRIED)
    ? since.find(({ what }) => what === 'done')?.at
    : undefined
}
