import { MESSAGE_TOPIC } from '../../core/event.ts'
import type { Log } from '../../core/log.ts'
import { createLoop } from '../../lib/loop.ts'
import type { Server } from './scripts.ts'

/** Interval (ms) of the checks of a server's clock. */
const CHECK_INTERVAL = 2_000
/** Every 15th check includes the topics, which have roots of their own. */
const CHECKS_PER_TOPIC_CHECK = 15

/**
 * Watches the clocks of the Redis servers, on which all their waiting times are based. After one
 * was set back, the first daemon to notice moves these times back by the same amount, once
 * (lua/clock.lua). Returns a function that stops the watch.
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
  let checks = 0
  async function check(): Promise<void> {
    const back = await run<number>('clock', roots.main, MESSAGE_TOPIC)
    const wasSetBack = back > 0
    if (wasSetBack)
      log.warn({ back }, 'the clock of Redis was set back; waiting times were moved back with it')
    if (!wasSetBack && checks % CHECKS_PER_TOPIC_CHECK !== 0) return
    for (const topic of await call<string[]>('SMEMBERS', `${roots.main}grouped-topics`))
      if (topic !== MESSAGE_TOPIC) await run('clock', roots.topic(topic), topic)
  }
  return createLoop({
    async step() {
      await check()
      checks++
      return CHECK_INTERVAL
    },
    // An unreachable store is reported elsewhere.
    failed: () => {},
    pause: CHECK_INTERVAL,
  })
}
