import { type JsonObject, objectsIn, pathGet } from '../core/json.ts'
import { pause } from '../lib/pause.ts'
import type { Connection } from './connection.ts'
import { pausedBy } from './paused-by.ts'

/** A message that was submitted with this key. */
type Submitted = { gateway: string; conversation: string; key: string }

/** Polling interval (ms) for the state of the message. */
const POLL_INTERVAL = 1_000
/** Number of messages of the conversation among which the message is searched. */
const NEWEST = 20

/** Prints pauses and failed attempts of a submitted message until `signal` aborts. */
export async function reportAttempts(
  daemon: Connection,
  submitted: Submitted,
  signal: AbortSignal,
  err: (text: string) => void,
): Promise<void> {
  const { gateway, conversation } = submitted
  const reported = new Set<string>()
  const report = (key: string, text: string) => {
    if (signal.aborted || reported.has(key)) return
    reported.add(key)
    err(`${text}\n`)
  }
  let id: string | undefined
  for (;;) {
    await pause(POLL_INTERVAL, signal)
    if (signal.aborted) return
    id ??= await idOf(daemon, submitted)
    if (id === undefined) continue
    const paused = await pausedBy(daemon, { id, gateway, conversation })
    if (paused) report(paused, paused)
    // Best effort: the final result reports errors.
    const shown = await daemon.invoke('message-show', { id }).catch(() => null)
    for (const entry of objectsIn(pathGet(shown, 'history'))) {
      const text = failedAttempt(entry)
      if (text !== undefined) report(String(entry.at), text)
    }
  }
}

/** The id of the message; undefined while it is not accepted, and if its key was used longer ago. */
async function idOf(daemon: Connection, { gateway, conversation, key }: Submitted) {
  const list = await daemon.invoke('message-list', { gateway, conversation, limit: NEWEST }).catch(() => null)
  const found = objectsIn(list).find((message) => message.key === key)?.id
  return typeof found === 'string' ? found : undefined
}

/** The text of an entry of the history, if it is a failed attempt that is repeated. */
function failedAttempt({ what, detail }: JsonObject): string | undefined {
  const { attempt, error, delay: delayMs } = Object(detail)
  if (delayMs === undefined) return undefined
  const seconds = Math.round(Number(delayMs) / 100) / 10
  return `${what}, attempt ${attempt}: ${error} (again in ${seconds} s)`
}
