import type { Json, JsonObject } from '../core/json.ts'
import { exitCodeOf, interruption } from './command.ts'
import type { Connection } from './connection.ts'
import { hasFailedAgain, WAIT_FOR_ONE, watchRetried } from './retried.ts'
import type { Terminal } from './terminal.ts'

/**
 * Runs `message-retry`, and adds its `outcome`: what became of the message within a few seconds.
 * The command exits with 1 if it failed again. Ctrl-C ends the wait, not the attempt, and the command
 * exits with 130.
 */
export async function retryMessage(
  { invoke }: Pick<Connection, 'invoke'>,
  args: JsonObject,
  { progress }: Pick<Terminal, 'progress'>,
  exit: (code: number) => void,
): Promise<Json> {
  const began = Date.now()
  // Ctrl-C may come before the answer, when the attempt has begun.
  const signal = interruption()
  const result = await invoke('message-retry', args)
  const id = String(args.id)
  const letters = [{ id, queue: 'dispatch', messageId: id }]
  const options = { began, limit: WAIT_FOR_ONE, signal, progress }
  const [fate] = await watchRetried({ invoke }, letters, options)
  if (fate && hasFailedAgain(fate)) exit(1)
  if (signal.aborted) exit(exitCodeOf('SIGINT'))
  return { ...Object(result), ...fate }
}
