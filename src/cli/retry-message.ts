import { type Json, type JsonObject, pathGet } from '../core/json.ts'
import { exitCodeOf, interruption } from './command.ts'
import type { Connection } from './connection.ts'
import { type Fate, hasFailedAgain, WAIT_FOR_MANY, WAIT_FOR_ONE, watchRetried } from './retried.ts'
import type { Terminal } from './terminal.ts'

/**
 * Runs `message-retry`, and adds its `outcome`: the message's outcome within a few seconds; of
 * several, the `outcomes`. The command exits with 1 if it failed again. Ctrl-C ends the wait, not the attempt, and the command
 * exits with 130.
 */
export async function retryMessage(
  { invoke }: Pick<Connection, 'invoke'>,
  args: JsonObject,
  { progress }: Pick<Terminal, 'progress'>,
  exit: (code: number) => void,
): Promise<Json> {
  const began = Date.now()
  // Ctrl-C may arrive after the attempt began, but before the response.
  const signal = interruption()
  const isOne = typeof args.id === 'string'
  const result = isOne ? await invoke('message-retry', args) : await retryAll(invoke, args)
  const ids = isOne ? [String(args.id)] : textsIn(pathGet(result, 'ids'))
  const letters = ids.slice(0, MOST_FOLLOWED).map((id) => ({ id, queue: 'dispatch', messageId: id }))
  const options = { began, limit: isOne ? WAIT_FOR_ONE : WAIT_FOR_MANY, signal, progress }
  const outcomes: Fate[] = letters.length > 0 ? await watchRetried({ invoke }, letters, options) : []
  if (outcomes.some(hasFailedAgain)) exit(1)
  if (signal.aborted) exit(exitCodeOf('SIGINT'))
  return { ...Object(result), ...(isOne ? outcomes[0] : { outcomes }) }
}

/** Maximum number of messages whose outcomes are followed. */
const MOST_FOLLOWED = 200

/** Retries several messages page by page, and merges the results. */
async function retryAll(invoke: Connection['invoke'], args: JsonObject): Promise<Json> {
  const ids: string[] = []
  let left = 0
  let before: unknown
  do {
    const page: Json = await invoke('message-retry', { ...args, ...(before !== undefined && { before }) })
    ids.push(...textsIn(pathGet(page, 'ids')))
    left += Number(pathGet(page, 'left') ?? 0)
    before = pathGet(page, 'next')
  } while (before !== undefined)
  return { ok: true, count: ids.length, ids, left }
}

function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : []
}
