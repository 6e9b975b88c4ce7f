import { shownAuthor } from '../../core/author.ts'
import { type Json, type JsonObject, pathGet } from '../../core/json.ts'
import { listTime, timeOf } from '../../core/readable.ts'
import { commandText } from '../../lib/command-text.ts'
import { counted } from '../../lib/counted.ts'
import { paint } from '../../lib/paint.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { type Printable, withNotes } from '../../lib/printed.ts'

/**
 * A pause of `pause-list`: who paused it and why, its end, how many messages wait, and the command
 * that ends it.
 */
export function pauseNote(pause: JsonObject): string {
  const { kind, name, since, by, reason, until, waiting, drop } = pause
  const why = reason === undefined ? '' : `: ${reason}`
  const end = until === undefined ? 'until it is resumed' : `until ${timeOf(until)}`
  const many = counted(Number(waiting), 'message waits', 'messages wait')
  const rest = drop === true ? ' New ones are recorded as handled by a person.' : ''
  const begin = `Paused by ${shownAuthor(by)} since ${timeOf(since)}, ${end}${why}.${changeText(pause, timeOf)}`
  return [
    paragraph('', `${begin} ${many}.${rest}`),
    paragraph('  → ', `${commandText(`${kind} resume`, name)} ends the pause.`),
  ].join('\n')
}

/**
 * The answer to the command that paused something. `effect`: as a clause, or as whole sentences;
 * `later`: what else is held, in sentences.
 */
export function pausedAnswer(
  result: Json,
  effect: ({ clause: string } | { sentences: string }) & { later?: string },
): Printable {
  const { kind, name, until, reason, since, by, changedBy, changedReason } = Object(pathGet(result, 'pause'))
  const isConversation = kind === 'conversation'
  const command = commandText(isConversation ? 'conversation hand back' : `${kind} resume`, name)
  const end = until === undefined ? `until ${command}` : `until ${timeOf(until)}`
  const given = changedBy === undefined ? reason : changedReason
  const why = given === undefined ? '' : ` Reason: ${given}.`
  const before =
    changedBy === undefined
      ? ''
      : ` ${shownAuthor(by)} had ${isConversation ? 'it' : 'paused it'} since ${timeOf(since)}${reason === undefined ? '' : `: ${reason}`}.`
  const missing = [
    until === undefined && '`--for 2h` sets an end',
    given === undefined && '`--reason TEXT` tells others why',
  ]
  const hint = missing.filter(Boolean).join(', ')
  const state = isConversation ? 'is taken over' : 'is paused'
  const rest =
    'clause' in effect ? `${state}. ${effect.clause}, ${end}.` : `${state} ${end}. ${effect.sentences}`
  const back = isConversation && until !== undefined ? ` ${command} hands it back.` : ''
  const later = effect.later ? ` ${effect.later}` : ''
  const text = paragraph('', `The ${kind} ${name} ${rest}${later}${why}${before}${back}`)
  return hint === '' ? text : withNotes(text, paragraph('', `Next time: ${hint}.`))
}

/** ` Changed by bob at 11:56 UTC: still busy.`, after a pause; empty if only its author changed it. */
function changeText({ changedBy, changedAt, changedReason }: JsonObject, time: (at: unknown) => string) {
  if (changedBy === undefined) return ''
  return ` Changed by ${shownAuthor(changedBy)} at ${time(changedAt)}${changedReason === undefined ? '' : `: ${changedReason}`}.`
}

/** `paused until 11:56 UTC by ada: busy (changed by bob)`, for a list. */
export function pausedText(pause: JsonObject): string {
  const changed = pause.changedBy === undefined ? '' : ` (changed by ${shownAuthor(pause.changedBy)})`
  const why = `${pause.reason === undefined ? '' : `: ${pause.reason}`}${changed}`
  // Only the first part is painted: a list may have the reason on a line of its own.
  return `${paint('yellow', `${pausedUntil(pause)} by ${shownAuthor(pause.by)}`)}${why}`
}

/** `paused until 11:56 UTC`, for a list. */
export function pausedUntil({ until }: JsonObject): string {
  return until === undefined ? 'paused' : `paused until ${listTime(until, shortTime)}`
}

/** `11:56 UTC`, with the date unless it is today. */
export function shortTime(at: unknown): string {
  const [day, time] = [timeOf(at).slice(0, 10), timeOf(at).slice(11)]
  return timeOf(Date.now()).startsWith(day) ? time : timeOf(at)
}
