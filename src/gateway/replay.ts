import { requireGateway } from '../core/call.ts'
import type { Message } from '../core/message.ts'
import type { Services } from '../core/services.ts'
import type { NewJob, Store } from '../core/store.ts'
import { DISPATCH_QUEUE } from './dispatch.ts'
import { isAwaited, jobFor } from './pump.ts'

/** How many messages are looked at in one step, and how many one call routes at most. */
const PAGE = 100
const MOST = 10_000

/**
 * Routes messages again that no route took, oldest first, as the routes are now. A repeated or a second call adds nothing twice: the store
 * knows a job by the id of its message. Who waited for the answer of one has been told that there is none, so that stays.
 */
export function createReplay(deps: {
  store: Pick<Store, 'journal' | 'jobs'>
  match(message: Message): { name: string } | undefined
  now(): number
}): Services['messages']['replay'] {
  const { store, match, now } = deps

  return async ({ since, gateway, dryRun }, { caller, signal }) => {
    if (gateway !== undefined) requireGateway(caller, gateway)
    /** The oldest last: these go first, and what is too many waits for the next call. */
    const found: NewJob[] = []
    let [unrouted, seen, more] = [0, 0, 0]
    let before: string | undefined
    do {
      signal.throwIfAborted()
      const gateways = gateway === undefined ? caller.gateways : [gateway]
      const page = await store.journal.search({ gateways, since, before, limit: PAGE })
      for (const { message, outcome } of page.found) {
        if (outcome !== 'unrouted' || isAwaited(message)) continue
        const route = match(message)
        if (route) found.push(jobFor(message, { name: route.name }))
        else unrouted++
      }
      more += found.splice(0, found.length - MOST).length
      seen += page.found.length
      before = page.next
    } while (before !== undefined)
    const jobs = found.reverse()
    const routes: Record<string, number> = {}
    for (let at = 0; at < jobs.length; at += PAGE) {
      signal.throwIfAborted()
      const some = jobs.slice(at, at + PAGE)
      if (!dryRun) await route(some)
      for (const { group } of some) routes[group] = (routes[group] ?? 0) + 1
    }
    return { seen, routed: jobs.length, routes, unrouted, more }
  }

  async function route(jobs: readonly NewJob[]): Promise<void> {
    await store.jobs.add(DISPATCH_QUEUE, jobs)
    const note = { at: now(), road: 'dispatch' as const, what: 'routed again' }
    await Promise.all(
      jobs.map(({ id, group }) => store.journal.note(id, [{ ...note, detail: { route: group } }])),
    )
  }
}
