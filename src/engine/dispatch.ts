import type { Message } from '../core/message.ts'
import type { Route } from '../core/route.ts'
import { defined } from '../lib/defined.ts'
import type { DispatchOptions } from './dispatch-options.ts'
import { DISPATCH_QUEUE } from './dispatch-queue.ts'
import { createRun } from './dispatch-run.ts'
import { createPump, type Place } from './pump.ts'
import { createRouteTable } from './route-table.ts'
import { createWorker } from './worker.ts'

/** The dispatch road: runs the first matching route's target at least once per message, in order within a conversation, else in parallel. */
export function createDispatch(options: DispatchOptions) {
  const { store, router, metrics, log, now } = options

  const routing = createRouteTable(router.routes)
  const { run, isDone } = createRun(options, routing)

  const placeOf = ({ name, order }: Route, message: Message): Place => ({
    name,
    isUnordered: order === 'none' || (options.isUrgent?.(message) ?? false),
  })

  const pump = createPump({
    journal: store.journal,
    match(message) {
      const route = router.match(message)
      if (route) options.matched?.(route.name)
      if (route?.bolt !== undefined) return placeOf(route, message)
      if (route && options.isApart?.(route.name)) return { name: route.name, isUnordered: true }
      // Its route is known only after its recordings are transcribed.
      if (options.voice?.wants(message)) return { name: '' }
      const merges = (route?.['while-busy'] ?? 'queue') !== 'queue' || route?.settle !== undefined
      // Like a resumed job it has no group, and its route is looked up again.
      return route && merges && options.isAlone?.(message) ? { name: '' } : route
    },
    unrouted(message) {
      metrics.dispatched('', 'unrouted', 0)
      void options.unrouted?.(message)
      log.debug({ messageId: message.id, gateway: message.gateway }, 'no route matches the message')
    },
  })
  const worker = createWorker({
    queue: DISPATCH_QUEUE,
    store,
    concurrency: options.concurrency,
    limits: () => routing().limits,
    unplaced: () => routing().unplaced,
    busy: () => routing().busy,
    refill: pump.add,
    run,
    ...defined({ isHeld: options.isHeld }),
    goesOn: (job) => routing().byName.get(job.group)?.queue !== undefined,
    settled: (job) => job.message && options.settled?.(job.message, isDone(job)),
    log,
    now,
  })
  let off = () => {}

  return {
    start() {
      off = store.onSignal('journal', () => {
        pump.look()
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
