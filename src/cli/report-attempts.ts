import { type JsonObject, objectsIn, pathGet } from '../core/json.ts'
import type { Submission } from '../core/message.ts'
import { pause } from '../lib/pause.ts'
import type { Connection } from './connection.ts'
import { pausedBy } from './paused-by.ts'

/** A message that is submitted with this key. */
type Submitted = Submission & { conversation: string; key: string }

/** Polling interval (ms) for the state of the message. */
const POLL_INTERVAL = 1_000
/** Number of messages of the conversation among which the message is searched. */
const MAX_MESSAGES = 20
/** After this many searches, a message with a key of the user was probably accepted long ago. */
const SEARCHES_BEFORE_KEY = 2

type ReportOptions = {
  /** Whether the user gave the key, which may have been used before. */
  isOwnKey: boolean
  signal: AbortSignal
  err(text: string): void
}

/** Prints pauses and failed attempts of a submitted message until `signal` aborts. */
export async function reportAttempts(
  daemon: Connection,
  submitted: Submitted,
  { isOwnKey, signal, err }: ReportOptions,
): Promise<void> {
  const reported = new Set<string>()
  const report = (key: string, text: string) => {
    if (signal.aborted || reported.has(key)) return
    reported.add(key)
    err(`${text}\n`)
  }
  let found: { id: string; conversation: string } | undefined
  for (let searches = 1; ; searches++) {
    await pause(POLL_INTERVAL, signal)
    if (signal.aborted) return
    found ??= await inConversation(daemon, submitted)
    if (isOwnKey && searches > SEARCHES_BEFORE_KEY) found ??= await byKey(daemon, submitted)
    if (found === undefined) continue
    const { id } = found
    const paused = await pausedBy(daemon, { ...found, gateway: submitted.gateway })
    if (paused) report(paused, paused)
    // Best effort: the final result reports errors.
    const shown = await daemon.invoke('message-show', { id }).catch(() => null)
    for (const entry of objectsIn(pathGet(shown, 'history'))) {
      const text = failedAttempt(entry)
      // The budget is checked again and again, with the same result.
      if (text !== undefined) report(entry.what === FOR_BUDGET ? text : String(entry.at), text)
    }
  }
}

/** The message among the newest ones of the conversation; undefined while it is not accepted. */
async function inConversation(daemon: Connection, { gateway, conversation, key }: Submitted) {
  const list = await daemon
    .invoke('message-list', { gateway, conversation, limit: MAX_MESSAGES })
    .catch(() => null)
  const id = objectsIn(list).find((message) => message.key === key)?.id
  return typeof id === 'string' ? { id, conversation } : undefined
}

/**
 * The message that had the key first, which may be older, and in another conversation. A key is
 * accepted once.
 */
async function byKey(daemon: Connection, submitted: Submitted) {
  if (!daemon.running) return undefined
  const result = await daemon.submit({ ...submitted, wait: 0 }).catch(() => null)
  const { id, conversation } = Object(result)
  return typeof id === 'string' ? { id, conversation: String(conversation) } : undefined
}

/** The entry of a message whose budget is used up. Its error says when it is available again. */
const FOR_BUDGET = 'waits for its budget'

/** The text of an entry of the history, if it is a failed attempt that is repeated. */
function failedAttempt({ what, detail }: JsonObject): string | undefined {
  const { attempt, error, delay: delayMs } = Object(detail)
  if (delayMs === undefined) return undefined
  if (what === FOR_BUDGET) return `${what}: ${error}`
  const seconds = Math.round(Number(delayMs) / 100) / 10
  return `${what}, attempt ${attempt}: ${error} (again in ${seconds} s)`
}
