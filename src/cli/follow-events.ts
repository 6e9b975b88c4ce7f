import { type JsonObject, objectsIn } from '../core/json.ts'
import { type CommandContext, interruption, usage } from './command.ts'
import type { Connection } from './connection.ts'
import { createPatientCalls } from './listen/patient-calls.ts'
import type { Terminal } from './terminal.ts'

/** The timeout of one wait (ms); the next begins where it ended. */
const ROUND = 60_000

/**
 * `event-wait --follow`, by a consumer group (`queue`, else one of its own), so that nothing between two waits or during a restart
 * of the daemon is missed. The first wait makes the group, with its filter; one that is there with another filter is refused
 * and left as it is. Ends when interrupted.
 */
export async function followEvents(
  connection: Connection,
  args: JsonObject,
  context: CommandContext,
): Promise<void> {
  if (args.ack === false && args.lease === undefined) {
    throw usage('--follow consumes what it prints; with --no-ack the same events would come again and again.')
  }
  const terminal = context.terminal()
  const { topic = null, queue = `follow-${process.pid}-${Date.now().toString(36)}` } = args
  const signal = interruption()
  const calls = createPatientCalls(context.environs(), signal, (text) => tell(terminal, text))
  await tellNewGroup(connection, args, terminal)
  const wait = { timeout: ROUND, ...args, queue }
  try {
    while (!signal.aborted) {
      const events = connection.running
        ? await calls.call('event-wait', wait)
        : await connection.invoke('event-wait', wait, signal)
      for (const event of Array.isArray(events) ? events : []) terminal.out(`${JSON.stringify(event)}\n`)
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    // A daemon that is away keeps the group; it has the same end as one whose reader was killed.
    const leave = { topic, queue }
    if (args.queue === undefined) await connection.invoke('event-unsubscribe', leave).catch(() => {})
  }
}

/** A wait with a mistyped `--queue` makes a group: says so. */
export async function tellNewGroup(
  connection: Connection,
  { topic, queue }: JsonObject,
  terminal: Terminal,
): Promise<void> {
  if (topic === undefined || queue === undefined) return
  const groups = await connection.invoke('event-groups', { topic }).catch(() => undefined)
  if (groups === undefined || objectsIn(groups).some(({ group }) => group === queue)) return
  const earlier = `\`trivium event seek ${topic} ${queue} start\` adds the retained events from before.`
  tell(terminal, `Created the consumer group ${queue}; it starts at the next event. ${earlier}`)
}

function tell(terminal: Terminal, text: string): void {
  terminal.err(terminal.json ? `${JSON.stringify({ notice: text })}\n` : `${text}\n`)
}
