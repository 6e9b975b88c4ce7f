import { setTimeout as pause } from 'node:timers/promises'
import { createSite, type DaemonProcess } from '../fixtures/daemon.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { type Relay, startRelay } from '../fixtures/relay.ts'
import { until } from '../fixtures/until.ts'

export type StoreKind = 'embedded' | 'redis'

export type Stage = Awaited<ReturnType<typeof createStage>>

type Slot = {
  env: Record<string, string>
  running: DaemonProcess | undefined
  /** The relay in front of its public listener. */
  relay: Relay | undefined
  /** The port of its public listener. */
  port: number
}

/** Ms between two attempts. */
const RETRY = 20
/** Timeout for a start on a busy machine (ms). */
const PATIENCE = 600_000
const MAX_STARTS = 20

/** Daemons and their store, which crash on request and are restarted as by a supervisor. */
export async function createStage(options: {
  store: StoreKind
  routes: string
  skills: Record<string, string>
  /** Daemons that share the store; more than one only on Redis. */
  daemons?: number
  env?: Record<string, string>
  /** An existing Redis to use, instead of a new one. */
  redisUrl?: string
  /** Puts relays in front of the new Redis and of the public listeners of the daemons. */
  isRelayed?: boolean
}) {
  const { isRelayed = false } = options
  const redis =
    options.store === 'redis' && !options.redisUrl ? await startRedisServer({ isRelayed }) : undefined
  const redisUrl = options.redisUrl ?? redis?.url
  const site = createSite({
    ownProcess: true,
    routes: options.routes,
    skills: options.skills,
    env: { ...(redisUrl ? { REDIS_URL: redisUrl } : {}), ...options.env },
  })
  const earlierOutputs: string[] = []
  let turn = 0
  let closed = false
  const slots: Slot[] = Array.from({ length: options.daemons ?? 1 }, (_, index) => ({
    env: index === 0 ? {} : { TRIVIUM_DATA_DIR: `.trivium-${index}` },
    running: undefined,
    relay: undefined,
    port: 0,
  }))
  if (isRelayed) {
    for (const slot of slots) slot.relay = await startRelay(() => slot.port)
  }

  /**
   * Starts a daemon, and repeats failed attempts as a supervisor does, for example while the store
   * is unreachable.
   */
  const start = async (slot: Slot) => {
    for (let attempt = 1; !closed; attempt++) {
      try {
        slot.running = await site.start(slot.env, (url) => {
          slot.port = Number(new URL(url).port)
          return slot.relay ? `http://127.0.0.1:${slot.relay.port}` : url
        })
        return
      } catch (error) {
        if (attempt === MAX_STARTS) throw error
        await pause(RETRY)
      }
    }
  }

  const daemon = async () => {
    if (closed) throw new Error('the stage is closed')
    const next = () => {
      turn += 1
      const alive = slots.flatMap(({ running }) => running ?? [])
      return alive[turn % alive.length]
    }
    return next() ?? (await until(next, 'a daemon that runs', PATIENCE))
  }

  await Promise.all(slots.map(start))
  return {
    site,
    redis,
    /** The relays between clients and daemons. */
    relays: slots.flatMap(({ relay }) => relay ?? []),
    /** A running daemon, in turn. Waits while none runs. */
    daemon,
    /**
     * Invokes a skill on a running daemon, and repeats the call until it is answered. `tries`: the
     * number of failed calls; `cuts` of them were interrupted without an answer. Throws permanent
     * errors.
     */
    async invoke(name: string, args: object = {}) {
      let cuts = 0
      for (let tries = 0; ; tries++) {
        try {
          return { result: await (await daemon()).invoke(name, args), tries, cuts }
        } catch (error) {
          if (closed || !(isCut(error) || isRefusal(error))) throw error
          if (isCut(error)) cuts += 1
          await pause(RETRY)
        }
      }
    },
    /** Kills the daemon `index` with SIGKILL, and resolves when it runs again. */
    async crashDaemon(index = 0) {
      const slot = slots[index]
      const victim = slot?.running
      if (!slot || !victim) return
      slot.running = undefined
      await victim.end('SIGKILL')
      earlierOutputs.push(victim.output())
      await start(slot)
    },
    /** Kills redis-server with SIGKILL and starts it again after `downFor` ms. */
    async crashRedis(downFor: number) {
      await redis?.kill()
      await pause(downFor)
      await redis?.start()
    },
    /** The output of all daemons, including killed ones. */
    output: () =>
      [...earlierOutputs, ...slots.map(({ running }) => running?.output() ?? '')].join('\n--- crash ---\n'),
    async close() {
      closed = true
      await Promise.all(slots.map(({ running }) => running?.end('SIGKILL')))
      await Promise.all(slots.map(({ relay }) => relay?.close()))
      await site.remove()
      await redis?.stop()
    },
  }
}

/** Whether the connection broke, so that the outcome of the call is unknown. */
function isCut(error: unknown): boolean {
  return error instanceof TypeError || error instanceof SyntaxError
}

/** Whether the same call may succeed later, as with an unreachable store or a stopping daemon. */
function isRefusal(error: unknown): boolean {
  return error instanceof Error && /^(store_unavailable|stopping|overloaded|cancelled):/.test(error.message)
}
