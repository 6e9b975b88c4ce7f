import { type Json, type JsonObject, objectsIn, pathGet } from '../core/json.ts'
import { defined } from '../lib/defined.ts'
import { pause } from '../lib/pause.ts'
import type { Connection } from './connection.ts'

type Daemon = Pick<Connection, 'invoke'>

/** A retried dead letter. `messageId`: its message, if it is a letter of dispatch. */
export type Retried = { id: string; queue: string; messageId?: string }

/**
 * What became of a retried letter. `outcome`: that of its message; a letter of another queue, such
 * as a reply, is `dead` again or `retried`.
 */
export type Fate = {
  id: string
  outcome: string
  error?: string
  /** When the next attempt begins (Unix ms). */
  nextAt?: number
  /** The pauses that hold the message. */
  pausedBy?: JsonObject[]
  budget?: string
}

type WatchOptions = {
  /** When the letters were retried (Unix ms). */
  began: number
  /** How long (ms) to wait for outcomes. */
  limit: number
  signal: AbortSignal
  progress(text: string): void
}

/** How long (ms) commands wait for the outcome of one, and of many. */
export const WAIT_FOR_ONE = 5_000
export const WAIT_FOR_MANY = 30_000
/** Pause (ms) before the first look; it doubles with each look, up to the longest. */
const FIRST_PAUSE = 100
const LONGEST_PAUSE = 1_000
/** Maximum number of messages of one call. */
const MOST_MESSAGES = 200
/** Maximum number of dead letters of one call. */
const MOST_LETTERS = 500
/** Outcomes of messages that may soon be others. */
const OPEN = new Set(['waiting', 'running', 'replying', 'retried'])

/** A letter as `dead-letter-list` and `dead-letter-show` return it. */
export function retriedLetter({ id, queue, message }: JsonObject): Retried {
  const messageId = queue === 'dispatch' ? pathGet(message ?? null, 'id') : undefined
  return { id: String(id), queue: String(queue), ...(typeof messageId === 'string' && { messageId }) }
}

/**
 * Waits until the outcomes of retried letters are known, `limit` has passed or `signal` aborts.
 * Resolves with what is known by then. The retries continue.
 */
export async function watchRetried(
  daemon: Daemon,
  letters: readonly Retried[],
  { began, limit, signal, progress }: WatchOptions,
): Promise<Fate[]> {
  const fates = new Map<string, Fate>(letters.map(({ id }) => [id, { id, outcome: 'retried' }]))
  const end = Date.now() + limit
  const isOpen = ({ id }: Retried) => mayChange(fates.get(id), end)
  using _erased = { [Symbol.dispose]: () => progress('') }
  for (let wait = FIRST_PAUSE; ; wait = Math.min(2 * wait, LONGEST_PAUSE)) {
    await pause(Math.min(wait, Math.max(0, end - Date.now())), signal)
    const known = await fatesOf(daemon, letters.filter(isOpen), began).catch(() => [])
    for (const fate of known) fates.set(fate.id, fate)
    const open = letters.filter(isOpen).length
    if (open === 0 || signal.aborted || Date.now() >= end) return [...fates.values()]
    progress(`${letters.length - open} of ${letters.length} have ended …`)
  }
}

/** Whether a retried letter or message failed again: it is dead again, or retried later. */
export function hasFailedAgain({ outcome, error }: Fate): boolean {
  return outcome === 'dead' || (outcome === 'retrying' && error !== undefined)
}

/** Whether an outcome may change before the time `end`. */
function mayChange(fate: Fate | undefined, end: number): boolean {
  if (!fate) return false
  if (fate.pausedBy !== undefined || fate.budget !== undefined) return false
  return fate.outcome === 'retrying' ? Number(fate.nextAt) < end : OPEN.has(fate.outcome)
}

async function fatesOf(daemon: Daemon, letters: readonly Retried[], began: number): Promise<Fate[]> {
  const ofMessages = letters.filter(({ messageId }) => messageId !== undefined)
  const others = letters.filter(({ messageId }) => messageId === undefined)
  return [
    ...(await fatesOfMessages(daemon, ofMessages, began)),
    ...(await fatesOfOthers(daemon, others, began)),
  ]
}

async function fatesOfMessages(daemon: Daemon, letters: readonly Retried[], began: number): Promise<Fate[]> {
  const fates: Fate[] = []
  for (let at = 0; at < letters.length; at += MOST_MESSAGES) {
    const some = letters.slice(at, at + MOST_MESSAGES)
    const attempts = await daemon.invoke('message-attempts', { ids: some.map(({ messageId }) => messageId) })
    const byId = new Map(objectsIn(attempts).map((attempt) => [attempt.id, attempt]))
    for (const { id, messageId = '' } of some) {
      const attempt = byId.get(messageId)
      if (attempt) fates.push(fateOf(id, attempt, began))
    }
  }
  return fates
}

function fateOf(id: string, attempt: JsonObject, began: number): Fate {
  const { outcome, at, error, nextAt, pausedBy, budget } = attempt
  const hasFailed = outcome === 'dead' || outcome === 'retrying'
  // The last attempt is older: the retry has not begun.
  const isOld = hasFailed && Number(at) < began
  return {
    id,
    outcome: isOld ? 'waiting' : String(outcome),
    ...(hasFailed && !isOld && typeof error === 'string' && { error }),
    ...(outcome === 'retrying' && !isOld && typeof nextAt === 'number' && { nextAt }),
    ...defined({
      pausedBy: Array.isArray(pausedBy) ? objectsIn(pausedBy) : undefined,
      budget: typeof budget === 'string' ? budget : undefined,
    }),
  }
}

/** Letters without a message are only known to have died again. */
async function fatesOfOthers(daemon: Daemon, letters: readonly Retried[], began: number): Promise<Fate[]> {
  if (letters.length === 0) return []
  const since = new Date(began).toISOString()
  const again = objectsIn(await daemon.invoke('dead-letter-list', { since, limit: MOST_LETTERS }))
  return letters.map(({ id, queue }) => {
    const letter = again.find((one) => one.id === id && one.queue === queue)
    return letter
      ? { id, outcome: 'dead', ...defined({ error: errorOf(letter) }) }
      : { id, outcome: 'retried' }
  })
}

function errorOf({ errors }: JsonObject): string | undefined {
  const message: Json | undefined = objectsIn(errors ?? null).at(-1)?.message
  return typeof message === 'string' ? message : undefined
}
