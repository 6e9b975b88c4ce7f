import { MESSAGE_TOPIC } from '../../core/event.ts'
import type { Log } from '../../core/log.ts'
import { createLoop } from '../../lib/loop.ts'
import type { Server } from './scripts.ts'

/** Ms between checks of a server's clock. */
const EVERY = 2_000
/** Topics have their own roots; they are checked in every 15th check. */
const TOPICS_EVERY = 15

/**
 * Watches the clocks of the Redis servers, on which all their waiting times are based. After one was set back, the first daemon to notice
 * moves these times back by the same amount, once (lua/clock.lua). Returns a function that stops the watch.
 */
export function watchClocks(servers: readonly Server[], log: Log): () => Promise<void> {
  // An unreachable server must not delay the checks of the others.
  const loops = servers.map((server) => watchClock(server, log))
  for (const loop of loops) loop.start()
  return async () => {
    await Promise.all(loops.map((loop) => loop.stop()))
  }
}

function watchClock({ run, call, roots }: Server, log: Log) {
  let looks = 0
  async function look(): Promise<void> {
    const back = await run<number>('clock', roots.main, MESSAGE_TOPIC)
    if (back > 0) log.warn({ back }, 'the clock of Redis was set back; waiting times were moved back with it')
    if (back === 0 && looks % TOPICS_EVERY !== 0) return
    for (const topic of await call<string[]>('SMEMBERS', `${roots.main}grouped-topics`))
      if (topic !== MESSAGE_TOPIC) await run('clock', roots.topic(topic), topic)
  }
  return createLoop({
    async step() {
      await look()
      looks++
      return EVERY
    },
    // An unreachable store is reported elsewhere.
    failed: () => {},
    pause: EVERY,
  })
}
