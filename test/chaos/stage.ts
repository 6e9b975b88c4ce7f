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
  /** Where its clients connect, and the port of its public listener behind that. */
  relay: Relay | undefined
  port: number
}

const RETRY = 20
/** How long a busy machine may take to start one, in ms. */
const PATIENCE = 600_000
const STARTS = 20

/** Daemons and their store, which crash on request and come back as a supervisor brings them back. */
export async function createStage(options: {
  store: StoreKind
  routes: string
  skills: Record<string, string>
  /** Daemons that share the store; more than one only on Redis. */
  daemons?: number
  env?: Record<string, string>
  /** A Redis that is there, in place of one of its own. */
  redisUrl?: string
  /** The Redis of its own, and the public listeners of the daemons, are reached through relays. */
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
  const gone: string[] = []
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

  /** As a supervisor: a start that fails, for example because the store is just away, is tried again. */
  const start = async (slot: Slot) => {
    for (let attempt = 1; !closed; attempt++) {
      try {
        slot.running = await site.start(slot.env, (url) => {
          slot.port = Number(new URL(url).port)
          return slot.relay ? `http://127.0.0.1:${slot.relay.port}` : url
        })
        return
      } catch (error) {
        if (attempt === STARTS) throw error
        await pause(RETRY)
      }
    }
  }

  const daemon = async () => {
    if (closed) throw new Error('the stage is closed')
    const next = () => {
      turn += 1
      const upright = slots.flatMap(({ running }) => running ?? [])
      return upright[turn % upright.length]
    }
    return next() ?? (await until(next, 'a daemon that runs', PATIENCE))
  }

  await Promise.all(slots.map(start))
  return {
    site,
    redis,
    /** The relays between clients and daemons. */
    relays: slots.flatMap(({ relay }) => relay ?? []),
    /** A daemon that runs; while none does, the next one. Of several, each call gives another. */
    daemon,
    /**
     * Invokes a skill on whichever daemon runs, again until one answers. `tries` is how many calls there were before,
     * `cuts` how many of those broke off without an answer. Throws what the skill refused for good.
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
    /** Kills a daemon with SIGKILL; resolves when it runs again. `index` picks one of several. */
    async crashDaemon(index = 0) {
      const slot = slots[index]
      const victim = slot?.running
      if (!slot || !victim) return
      slot.running = undefined
      await victim.end('SIGKILL')
      gone.push(victim.output())
      await start(slot)
    },
    /** Kills redis-server with SIGKILL and starts it again after `downFor` ms. */
    async crashRedis(downFor: number) {
      await redis?.kill()
      await pause(downFor)
      await redis?.start()
    },
    /** What the daemons wrote, those that are gone too. */
    output: () => [...gone, ...slots.map(({ running }) => running?.output() ?? '')].join('\n--- crash ---\n'),
    async close() {
      closed = true
      await Promise.all(slots.map(({ running }) => running?.end('SIGKILL')))
      await Promise.all(slots.map(({ relay }) => relay?.close()))
      await site.remove()
      await redis?.stop()
    },
  }
}

/** A connection that broke: whether the call did something is unknown. */
function isCut(error: unknown): boolean {
  return error instanceof TypeError || error instanceof SyntaxError
}

/** A store that is away, a daemon that stops: the same call may succeed later. */
function isRefusal(error: unknown): boolean {
  return error instanceof Error && /^(store_unavailable|stopping|overloaded|cancelled):/.test(error.message)
}
