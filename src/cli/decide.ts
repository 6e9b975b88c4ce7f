import { setTimeout as pause } from 'node:timers/promises'
import { type Json, type JsonObject, objectsIn, pathGet } from '../core/json.ts'
import { answersAfter } from '../lib/answers-after.ts'
import { interruption } from './command.ts'
import type { Connection } from './connection.ts'
import type { Terminal } from './terminal.ts'

/** How long (ms) to wait for the run and the answer to the sender, and how often to look. */
const WATCH = { for: 8_000, every: 250 }
/** Outcomes of a message after which it is not answered any more. */
const ENDED = new Set(['done', 'dead', 'dropped', 'undelivered', 'suppressed'])

/**
 * Runs `approval-decide`, and for people waits a few seconds for what follows: the `run` of an
 * approved call, and `answers`, what the sender was told. Ctrl-C ends the wait, not the run.
 */
export async function decideApproval(
  { invoke }: Pick<Connection, 'invoke'>,
  args: JsonObject,
  { json, progress }: Pick<Terminal, 'json' | 'progress'>,
): Promise<Json> {
  const decided = Object(await invoke('approval-decide', args))
  if (json || decided.repeated === true || objectsIn(decided.pausedBy ?? null).length > 0) return decided
  const messageId = pathGet(decided, 'message.id')
  const signal = interruption()
  using _erased = { [Symbol.dispose]: () => progress('') }
  progress('Waiting for what follows …')
  let known = decided
  for (const end = Date.now() + WATCH.for; Date.now() < end && !signal.aborted; ) {
    const [request] = objectsIn(await invoke('approval-list', { id: args.id ?? '' }))
    const shown = typeof messageId === 'string' ? await invoke('message-show', { id: messageId }) : null
    const answers = answersAfter(Number(decided.decidedAt), objectsIn(pathGet(shown, 'history')))
    known = { ...decided, ...(request?.run !== undefined && { run: request.run }), answers }
    const hasRun = decided.status !== 'approved' || request?.run !== undefined
    const isAnswered = answers.length > 0 && answers.every(({ state }) => state !== 'queued')
    const isOver = messageId === undefined || ENDED.has(String(pathGet(shown, 'dispatch.outcome')))
    if (hasRun && (isAnswered || isOver)) break
    await pause(WATCH.every)
  }
  return known
}
