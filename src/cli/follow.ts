import type { Json, JsonObject } from '../core/json.ts'
import { usage } from './command.ts'
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
  if (args.ack === false && args.lease === undefined) {
    throw usage('--follow consumes what it prints; with --no-ack the same events would come again and again.')
  }
  const { topic = null, queue = `follow-${process.pid}-${Date.now().toString(36)}` } = args
  await connection.invoke('event-subscribe', { topic, queue })
  const interrupted = new AbortController()
  const interrupt = () => interrupted.abort()
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, interrupt)
  try {
    while (!interrupted.signal.aborted) {
      const wait = { timeout: ROUND, ...args, queue }
      const events: Json = await connection.invoke('event-wait', wait, interrupted.signal)
      for (const event of Array.isArray(events) ? events : []) terminal.out(`${JSON.stringify(event)}\n`)
    }
  } catch (error) {
    if (!interrupted.signal.aborted) throw error
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, interrupt)
    if (args.queue === undefined) await connection.invoke('event-unsubscribe', { topic, queue })
  }
}
