import { requireGateway } from '../core/call.ts'
import type { Message } from '../core/message.ts'
import type { ServiceOf } from '../core/operation.ts'
import { REQUEST_ENDED } from '../core/request-ended.ts'
import type { NewJob, Store } from '../core/store.ts'
import { addCount } from '../lib/name-counts.ts'
import { DISPATCH_QUEUE } from './dispatch-queue.ts'
import type { messages } from './operations/messages.ts'
import { isAwaited, jobFor } from './pump.ts'

/** Number of messages per step. */
const PAGE = 100
/** Maximum number of messages that one call routes. */
const MAX_MESSAGES = 10_000

/**
 * Routes unrouted messages again with the current routes, oldest first. Jobs are identified by
 * message id: of two concurrent calls only one adds a job, counts it and writes to its history. A
 * message whose sender waited for the result is left out if a worker replied to it: the sender
 * would get a second answer when it repeats the delivery.
 */
export function createReplay(deps: {
  store: Pick<Store, 'journal' | 'jobs'>
  match(message: Message): { name: string } | undefined
  now(): number
}): ServiceOf<typeof messages>['replay'] {
  const { store, match, now } = deps

  return async ({ since, gateway, dryRun }, { caller, signal }) => {
    if (gateway !== undefined) requireGateway(caller, gateway)
    /** Newest first. The oldest are routed first; the rest waits for the next call. */
    const found: NewJob[] = []
    let unrouted = 0
    let answered = 0
    let seen = 0
    let more = 0
    let before: string | undefined
    do {
      signal.throwIfAborted()
      const gateways = gateway === undefined ? caller.gateways : [gateway]
      const page = await store.journal.search({ gateways, since, before, limit: PAGE })
      for (const { message, outcome } of page.found) {
        if (outcome !== 'unrouted') continue
        const route = match(message)
        if (!route) unrouted++
        else if (isAwaited(message) && (await hasReply(message))) answered++
        else found.push(jobFor(message, { name: route.name }))
      }
      more += found.splice(0, found.length - MAX_MESSAGES).length
      seen += page.found.length
      before = page.next
    } while (before !== undefined)
    const jobs = found.reverse()
    const routes: Record<string, number> = {}
    let routed = 0
    for (let at = 0; at < jobs.length; at += PAGE) {
      signal.throwIfAborted()
      const some = jobs.slice(at, at + PAGE)
      const added = dryRun ? some : await route(some)
      for (const { group } of added) addCount(routes, group)
      routed += added.length
    }
    return { seen, routed, routes, unrouted, answered, more }
  }

  async function hasReply({ id }: Message): Promise<boolean> {
    const history = await store.journal.history(id)
    return history.some(({ road, what }) => road === 'outbox' && what !== REQUEST_ENDED)
  }

  /** Returns the added jobs. A concurrent call added the others. */
  async function route(jobs: readonly NewJob[]): Promise<NewJob[]> {
    const answers = await store.jobs.add(DISPATCH_QUEUE, jobs)
    const added = jobs.filter((_, at) => answers[at]?.added)
    const note = { at: now(), road: 'dispatch' as const, what: 'routed again' }
    await Promise.all(
      added.map(({ id, group }) => store.journal.note(id, [{ ...note, detail: { route: group } }])),
    )
    return added
  }
}
