import { TriviumError } from '../core/errors.ts'
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
  if (args.ack === false && args.lease === undefined) {
    throw new TriviumError('usage', {
      details: '--follow consumes what it prints; with --no-ack the same events would come again and again.',
    })
  }
  const topic = args.topic ?? null
  const own = args.queue === undefined
  const queue = args.queue ?? `follow-${process.pid}-${Date.now().toString(36)}`
  await connection.invoke('event-subscribe', { topic, queue })
  const interrupted = new AbortController()
  const interrupt = () => interrupted.abort()
  process.once('SIGINT', interrupt)
  process.once('SIGTERM', interrupt)
  try {
    while (!interrupted.signal.aborted) {
      const wait = { timeout: ROUND, ...args, queue }
      const events = await connection.invoke('event-wait', wait, interrupted.signal)
      for (const event of Array.isArray(events) ? events : []) terminal.out(`${line(event)}\n`)
    }
  } catch (error) {
    if (!interrupted.signal.aborted) throw error
  } finally {
    process.off('SIGINT', interrupt)
    process.off('SIGTERM', interrupt)
    if (own) await connection.invoke('event-unsubscribe', { topic, queue })
  }
}

function line(event: Json): string {
  return JSON.stringify(event)
}
