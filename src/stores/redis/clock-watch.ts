import { MESSAGE_TOPIC } from '../../core/event.ts'
import type { Log } from '../../core/log.ts'
import { createLoop } from '../../lib/loop.ts'
import type { Server } from './scripts.ts'

/** Ms between checks of a server's clock. */
const EVERY = 2_000
/** Topics have their own roots; they are checked in every 15th check. */
const TOPICS_EVERY = 15

/**
 * Watches the clock of the Redis server, on which all its waiting times are based. After it was set back, the first daemon to notice
 * moves these times back by the same amount, once (lua/clock.lua). Returns a function that stops the watch.
 */
export function watchClock(servers: readonly Server[], log: Log): () => Promise<void> {
  let looks = 0
  async function look({ run, call, roots }: Server): Promise<void> {
    const back = await run<number>('clock', roots.main, MESSAGE_TOPIC)
    if (back > 0) log.warn({ back }, 'the clock of Redis was set back; waiting times were moved back with it')
    if (back === 0 && looks % TOPICS_EVERY !== 0) return
    for (const topic of await call<string[]>('SMEMBERS', `${roots.main}grouped-topics`))
      if (topic !== MESSAGE_TOPIC) await run('clock', roots.topic(topic), topic)
  }
  const loop = createLoop({
    async step() {
      for (const server of servers) await look(server)
      looks++
      return EVERY
    },
    // An unreachable store is reported elsewhere.
    failed: () => {},
    pause: EVERY,
  })
  loop.start()
  return loop.stop
}
