import type { Queues } from '../features/bullmq/queues.ts'
import type { Notify } from '../features/notify/notify.ts'
import type { createPush } from '../features/push/push.ts'
import { type createPublicHttp, textOf } from '../http/public-http.ts'
import { pause } from '../lib/pause.ts'
import type { createDurableParts } from './durable.ts'
import type { Foundation } from './foundation.ts'
import type { createHousekeeping } from './housekeeping.ts'
import type { createControlServer } from './operator.ts'
import type { createReload } from './reload.ts'
import type { RoadWorkers } from './road-workers.ts'
import type { makeSkills } from './skills.ts'

/** Ms that replies and answers get to go out, when a drain has used up its grace. */
const LAST_MOMENT = 1_000

type Parts = {
  http: ReturnType<typeof createPublicHttp>
  control: ReturnType<typeof createControlServer>
  workers: RoadWorkers
  durable: ReturnType<typeof createDurableParts>
  push: Pick<ReturnType<typeof createPush>, 'start' | 'stop'>
  notify: Pick<Notify, 'start' | 'stop'>
  troubles: Parameters<Notify['start']>[0]
  skills: ReturnType<typeof makeSkills>
  queues: Pick<Queues, 'close'>
  housekeeping: ReturnType<typeof createHousekeeping>
  /** Set when it begins to drain. */
  draining: { isDraining: boolean }
  reloading: Pick<ReturnType<typeof createReload>, 'first'>
}

/** How a daemon starts, and how it drains and stops. */
export function createLife(base: Foundation, parts: Parts) {
  const { config, gateways, mode, log } = base
  const { http, control, workers, durable, push } = parts
  return {
    /** Starts roads and gateways. Resolves with where it listens, as `host:port`, unless it is `local`. */
    async start() {
      // Gateways first: a reply that finds none would wait for one, and a skill could not send.
      await parts.reloading.first()
      await durable.prepare()
      await workers.start()
      parts.housekeeping.start()
      parts.skills.usage.start()
      if (mode === 'local') return undefined
      durable.start()
      push.start()
      base.longWork.start()
      parts.notify.start(parts.troubles)
      base.sharedLogs?.start()
      const address = await control.listen(config().daemon.controlListen)
      const listen = await http.listen(config().daemon.listen)
      return { listen: textOf(listen), control: textOf(address) }
    },
    /** Drains after the configured delay and within the grace; nothing acknowledged is lost. Never throws. */
    async stop() {
      parts.draining.isDraining = true
      const { grace, drainDelay } = config().daemon
      http.leave()
      if (http.isListening()) await pause(drainDelay)
      const end = performance.now() + grace
      /** Of the grace; replies and answers get a moment of their own when skills needed all of it. */
      const left = () => Math.max(end - performance.now(), Math.min(grace, LAST_MOMENT))
      const steps = [
        // A message that is only just accepted begins; its sender waits for the reply.
        () => control.answered(Math.min(left(), LAST_MOMENT)),
        // Before the rest: gateways that stop are no news.
        parts.notify.stop,
        () => gateways.stop(),
        () => Promise.all([workers.drain(left), durable.drain(grace), push.stop(left())]),
        // Closing the gateways ends the requests and the connections that they hold.
        () => Promise.all([http.close(left()), gateways.close()]),
        ...closingSteps(base, parts),
      ]
      for (const step of steps) {
        await step().catch((err: unknown) => log.error({ err }, 'a part did not stop cleanly'))
      }
    },
  }
}

/** Closes what no message uses any more, in this order. */
function closingSteps(
  { store, logs, tracing, longWork }: Foundation,
  parts: Parts,
): (() => Promise<unknown>)[] {
  const { skills, queues, control, housekeeping, durable } = parts
  return [
    longWork.stop,
    () => skills.manager.close(),
    () => skills.mcp.close(),
    () => queues.close(),
    () => control.close(),
    housekeeping.stop,
    skills.usage.stop,
    async () => skills.services.close(),
    () => durable.close(),
    () => logs.close(),
    () => store.close(),
    async () => tracing?.stop(),
  ]
}
