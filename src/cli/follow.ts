import type { Json, JsonObject } from '../core/json.ts'
import type { Connection } from './connection.ts'
import type { Terminal } from './terminal.ts'

/** One wait of `--follow`; the next begins where it ended. */
const ROUND = 60_000

/**
 * `event-wait --follow`: prints one JSON line an event until interrupted. It reads through a consumer group, so
 * that nothing between two waits is missed: the one given with `--queue`, else one of its own that ends with it.
 */
export async function followEvents(
  connection: Connection,
  args: JsonObject,
  terminal: Terminal,
): Promise<void> {
  const topic = args.topic ?? null
  const own = args.queue === undefined
  const queue = args.queue ?? `follow-${process.pid}-${Date.now().toString(36)}`
  await connection.invoke('event-subscribe', { topic, queue })
  let ended = false
  const interrupted = new Promise<'interrupted'>((resolve) => {
    process.once('SIGINT', () => resolve('interrupted'))
    process.once('SIGTERM', () => resolve('interrupted'))
  })
  try {
    while (!ended) {
      const wait = connection.invoke('event-wait', { timeout: ROUND, ...args, queue })
      const events = await Promise.race([wait, interrupted])
      ended = events === 'interrupted'
      for (const event of Array.isArray(events) ? events : []) terminal.out(`${line(event)}\n`)
    }
  } finally {
    if (own) await connection.invoke('event-unsubscribe', { topic, queue })
  }
}

function line(event: Json): string {
  return JSON.stringify(event)
}
