import type { Message } from '../core/message.ts'
import type { Route } from '../core/route.ts'
import { defined } from '../lib/defined.ts'
import type { DispatchOptions } from './dispatch-options.ts'
import { DISPATCH_QUEUE } from './dispatch-queue.ts'
import { createRun } from './dispatch-run.ts'
import { createPump, type RoutePlan } from './pump.ts'
import { createRouteTable } from './route-table.ts'
import { createWorker } from './worker.ts'

/** For a message whose route is looked up when its job runs. */
const NO_ROUTE_YET: RoutePlan = { name: '' }

/**
 * The dispatch road: runs the first matching route's target at least once per message, in order
 * within a conversation, else in parallel.
 */
export function createDispatch(options: DispatchOptions) {
  const { store, router, metrics, log, now } = options

  const routing = createRouteTable(router.routes)
  const run = createRun(options, routing)

  /** For routes with `bolt`; only these have an `order`. */
  const boltPlan = ({ name, order }: Route, message: Message): RoutePlan => ({
    name,
    isUnordered: order === 'none' || (options.isUrgent?.(message) ?? false),
  })

  const pump = createPump({
    journal: store.journal,
    match(message) {
      const route = router.match(message)
      if (route) options.matched?.(route.name)
      if (route?.bolt !== undefined) return boltPlan(route, message)
      if (route && options.isUnordered?.(route.name)) return { name: route.name, isUnordered: true }
      // The final route is known only after the recordings are transcribed.
      if (options.voice?.wants(message)) return NO_ROUTE_YET
      const merges = (route?.['while-busy'] ?? 'queue') !== 'queue' || route?.settle !== undefined
      // A job without the name of its route is never merged.
      return route && merges && options.mustNotMerge?.(message) ? NO_ROUTE_YET : route
    },
    unrouted(messages) {
      metrics.unrouted(messages.length)
      void options.unrouted?.(messages)
      for (const { id: messageId, gateway } of messages)
        log.debug({ messageId, gateway }, 'no route matches the message')
    },
  })
  const worker = createWorker({
    queue: DISPATCH_QUEUE,
    store,
    concurrency: options.concurrency,
    limits: () => routing().limits,
    withoutSlot: () => routing().withoutSlot,
    busy: () => routing().busy,
    refill: pump.pumpBatch,
    run,
    ...defined({ isHeld: options.isHeld }),
    runsElsewhere: (job) => routing().byName.get(job.group)?.queue !== undefined,
    settled: (job, outcome) => job.message && options.settled?.(job.message, outcome),
    log,
    now,
  })
  let off = () => {}

  return {
    start() {
      off = store.onSignal('journal', () => {
        pump.signal()
        worker.wakeToRefill()
      })
      worker.start()
    },
    async stop(grace: number) {
      off()
      await worker.stop(grace)
    },
    wake: worker.wake,
    cancel: worker.cancel,
    running: worker.running,
  }
}
