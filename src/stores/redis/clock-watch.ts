import { MESSAGE_TOPIC } from '../../core/event.ts'
import type { Log } from '../../core/log.ts'
import { createLoop } from '../../lib/loop.ts'
import type { Server } from './scripts.ts'

/** Ms between two looks at the clock of a server, and looks between two at the topics, which have roots of their own. */
const EVERY = 2_000
const TOPICS = 15

/**
 * Watches the clock of the Redis server, by which everything waits there. Where it was set back, the times that something waits
 * for are brought back by as much, once, whichever daemon sees it first (lua/clock.lua). Returns what ends it.
 */
export function watchClock(servers: readonly Server[], log: Log): () => Promise<void> {
  let looks = 0
  async function look({ run, call, roots }: Server): Promise<void> {
    const back = await run<number>('clock', roots.main, MESSAGE_TOPIC)
    if (back > 0)
      log.warn({ back }, 'the clock of Redis was set back; what waits for a time waits as long as before')
    if (back === 0 && looks % TOPICS !== 0) return
    for (const topic of await call<string[]>('SMEMBERS', `${roots.main}grouped-topics`))
      if (topic !== MESSAGE_TOPIC) await run('clock', roots.topic(topic), topic)
  }
  const loop = createLoop({
    async step() {
      for (const server of servers) await look(server)
      looks++
      return EVERY
    },
    // A store that is away is told of elsewhere.
    failed: () => {},
    pause: EVERY,
  })
  loop.start()
  return loop.stop
}
