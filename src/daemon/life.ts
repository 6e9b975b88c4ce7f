import type { createControlServer } from '../api/control-server.ts'
import { SYSTEM } from '../core/audit.ts'
import type { Queues } from '../features/bullmq/queues.ts'
import type { Notifier } from '../features/notify/notifier.ts'
import type { createPush } from '../features/push/push.ts'
import { textOf } from '../http/listen-on.ts'
import type { createPublicHttp } from '../http/public-http.ts'
import { inTime, pause } from '../lib/pause.ts'
import type { createDurableParts } from './durable.ts'
import type { Foundation } from './foundation.ts'
import type { createHousekeeping } from './housekeeping.ts'
import type { makePeople } from './people.ts'
import type { createReload } from './reload.ts'
import type { RoadWorkers } from './road-workers.ts'
import type { makeSkills } from './skills.ts'

/** Minimum time (ms) for replies and responses, even if the grace period is used up. */
const LEAST_TIME = 1_000

type Parts = {
  http: ReturnType<typeof createPublicHttp>
  control: ReturnType<typeof createControlServer>
  workers: RoadWorkers
  durable: ReturnType<typeof createDurableParts>
  people: Pick<ReturnType<typeof makePeople>, 'start' | 'stop'>
  push: Pick<ReturnType<typeof createPush>, 'start' | 'stop'>
  notifier: Notifier
  skills: ReturnType<typeof makeSkills>
  queues: Pick<Queues, 'close'>
  housekeeping: ReturnType<typeof createHousekeeping>
  /** Set when draining starts. */
  draining: { isDraining: boolean }
  reloading: Pick<ReturnType<typeof createReload>, 'first'>
}

/** Starts, drains and stops a daemon. */
export function createLife(base: Foundation, parts: Parts) {
  const { config, gateways, mode, log } = base
  const { http, control, workers, durable, push } = parts
  return {
    /** Starts roads and gateways. Returns the addresses (`host:port`), unless `local`. */
    async start() {
      // Gateways first, because replies and skills need them.
      await parts.reloading.first()
      await durable.prepare()
      await workers.prepare()
      parts.housekeeping.start()
      parts.skills.usage.start()
      const isServing = mode === 'serve'
      const begin = () => {
        workers.start()
        if (!isServing) return
        durable.start()
        push.start()
      }
      await base.storePause.start(begin, { isWaiting: isServing })
      if (!isServing) return undefined
      base.longWork.start()
      parts.people.start()
      parts.notifier.start()
      base.sharedLogs?.start()
      const address = await control.listen(config().daemon.controlListen)
      const listen = await http.listen(config().daemon.listen)
      // Without waiting: the store may be unreachable.
      void recordLife(base, 'daemon-start')
      return { listen: textOf(listen), control: textOf(address) }
    },
    /**
     * Drains after the configured delay, within the grace period, and closes all parts. Loses
     * nothing that was acknowledged. Never throws.
     */
    async stop() {
      parts.draining.isDraining = true
      const { grace, drainDelay } = config().daemon
      http.leave()
      if (http.isListening()) await pause(drainDelay)
      const deadline = performance.now() + grace
      /** The rest of the grace period (ms), but at least the time for replies and responses. */
      const timeLeft = () => Math.max(deadline - performance.now(), Math.min(grace, LEAST_TIME))
      const steps = [
        // Not for long: the store may be unreachable.
        ...(mode === 'serve'
          ? [() => inTime(recordLife(base, 'daemon-stop'), AbortSignal.timeout(LEAST_TIME))]
          : []),
        // Messages that were just submitted here still run, as their senders wait for the replies.
        () => control.drain(Math.min(timeLeft(), LEAST_TIME)),
        // Before the gateways, whose end would cause notifications.
        parts.notifier.stop,
        base.storePause.stop,
        () => gateways.stop(),
        () => Promise.all([workers.drain(timeLeft), durable.drain(timeLeft()), push.stop(timeLeft())]),
        // Closing the gateways ends their pending requests and connections.
        () => Promise.all([http.close(timeLeft()), gateways.close()]),
        ...closingSteps(base, parts),
      ]
      for (const step of steps) {
        await step().catch((err: unknown) => log.error({ err }, 'a part did not stop cleanly'))
      }
    },
  }
}

/** Records a start or stop of this daemon in the audit log. */
function recordLife({ audit, owner, version }: Foundation, action: 'daemon-start' | 'daemon-stop') {
  return audit.record({
    by: SYSTEM,
    via: 'system',
    action,
    target: { daemon: owner, version },
    outcome: 'ok',
  })
}

/** Closes the remaining parts, in order. */
function closingSteps(
  { store, logs, tracing, longWork }: Foundation,
  parts: Parts,
): (() => Promise<unknown>)[] {
  const { skills, queues, control, housekeeping, durable, people } = parts
  return [
    longWork.stop,
    people.stop,
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
