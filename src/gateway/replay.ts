import { requireGateway } from '../core/call.ts'
import type { Message } from '../core/message.ts'
import { timeOf } from '../core/message-id.ts'
import type { Services } from '../core/services.ts'
import type { NewJob, Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
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

  const wasUnrouted = async ({ id }: Message) =>
    (await store.journal.history(id)).findLast(({ road }) => road === 'dispatch')?.what === 'unrouted'

  return async ({ since, gateway, dryRun }, { caller, signal }) => {
    if (gateway !== undefined) requireGateway(caller, gateway)
    const allowed = (message: Message) => caller.gateways?.includes(message.gateway) ?? true
    /** The oldest last: these go first, and what is too many waits for the next call. */
    const found: NewJob[] = []
    let [unrouted, seen, more] = [0, 0, 0]
    for (let before: string | undefined; ; ) {
      signal.throwIfAborted()
      const page = await store.journal.list({ limit: PAGE, ...defined({ gateway, before }) })
      const recent = page.filter((message) => timeOf(message.id) >= since)
      const mine = recent.filter((message) => allowed(message) && !isAwaited(message))
      const standing = await Promise.all(mine.map(wasUnrouted))
      for (const message of mine.filter((_, index) => standing[index])) {
        const route = match(message)
        if (route) found.push(jobFor(message, route.name))
        else unrouted++
      }
      more += found.splice(0, found.length - MOST).length
      seen += recent.length
      before = page.at(-1)?.id
      // A page is short where messages are large: only an empty one is the end.
      if (before === undefined || recent.length < page.length) break
    }
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
