import { type JsonObject, objectsIn } from '../core/json.ts'
import { commandText } from '../lib/command-text.ts'
import { type CommandContext, interruption, usage } from './command.ts'
import type { Connection } from './connection.ts'
import { createPatientCalls } from './listen/patient-calls.ts'
import type { Terminal } from './terminal.ts'

/** The timeout (ms) of one wait. The next wait continues where it ended. */
const WAIT_TIMEOUT = 60_000

/**
 * `event-wait --follow`: prints events until interrupted. Reads as a consumer group (`queue`, or a
 * temporary one), so that it misses nothing between two waits or during a restart of the daemon.
 * The first wait creates the group with its filter. An existing group with another filter is an
 * error, and does not change.
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
  const calls = createPatientCalls(context.environs(), signal, (text) => note(terminal, text))
  await noteNewGroup(connection, args, terminal)
  const wait = { timeout: WAIT_TIMEOUT, ...args, queue }
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
    // If the daemon cannot be reached, the group stays, as after a kill of this process.
    const group = { topic, queue }
    if (args.queue === undefined) await connection.invoke('event-unsubscribe', group).catch(() => {})
  }
}

/** Prints a note if a wait will create the group of its `--queue`, whose name may be mistyped. */
export async function noteNewGroup(
  connection: Connection,
  { topic, queue }: JsonObject,
  terminal: Terminal,
): Promise<void> {
  if (topic === undefined || queue === undefined) return
  const groups = await connection.invoke('event-groups', { topic }).catch(() => undefined)
  if (groups === undefined || objectsIn(groups).some(({ group }) => group === queue)) return
  const seek = `${commandText('event seek', topic, queue, 'start')} adds the retained events from before.`
  note(terminal, `Created the consumer group ${queue}; it starts at the next event. ${seek}`)
}

function note(terminal: Terminal, text: string): void {
  terminal.err(terminal.json ? `${JSON.stringify({ notice: text })}\n` : `${text}\n`)
}
