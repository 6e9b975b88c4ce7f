import { type Json, type JsonObject, objectsIn } from '../core/json.ts'
import { shortError } from '../engine/print/letter-causes.ts'
import { ageText } from '../lib/age-text.ts'
import { commandText } from '../lib/command-text.ts'
import { counted } from '../lib/counted.ts'
import { paragraph } from '../lib/paragraph.ts'
import { resumeCommand } from '../lib/resume-command.ts'
import { shorten } from '../lib/short-text.ts'
import type { Fate } from './retried.ts'

/** Maximum characters of an error. */
const LONGEST_ERROR = 200

/** What became of one retried letter: `Retried: done.`, or its error, or where to look. */
export function retriedOne(fate: Fate, now = Date.now()): string {
  const { id, outcome, error, nextAt, budget } = fate
  const why = error === undefined ? '' : `: ${shorten(shortError(error), LONGEST_ERROR)}`
  const [pause] = fate.pausedBy ?? []
  if (pause)
    return `Retried. It waits: ${pause.kind} ${pause.name} is paused. ${resumeCommand(pause)} resumes it.`
  if (budget !== undefined) return `Retried. It waits for its budget: ${budget}`
  if (outcome === 'dead')
    return `It failed again${why}. ${commandText('dead-letter show', id)} has the attempts.`
  if (outcome === 'retrying')
    return `It failed again${why}. The next attempt begins in ${ageText(Number(nextAt) - now)}: ${commandText('message show', id)}`
  if (outcome === 'retried')
    return `Retried; it has not failed again so far. ${commandText('dead-letter show', id)} finds it if it does.`
  if (!WORDS[outcome]) return `Retried: ${outcome}.`
  return `Retried; it is ${WORDS[outcome]}. ${commandText('message show', id)} shows its outcome.`
}

/** `message-retry`; with `--no-wait`, the outcome is not known. */
export function humanRetriedMessage(result: Json): string {
  const { id, outcome, ids } = Object(result)
  if (Array.isArray(ids)) return severalRetried(Object(result))
  if (outcome === undefined) return `The next attempt on message ${id} begins now.`
  return paragraph('', retriedOne(fateIn(Object(result))))
}

/** Several messages: the outcomes of those that were followed. */
function severalRetried({ count, left, outcomes }: JsonObject): string {
  const many = Number(count)
  const others = Number(left ?? 0)
  const rest = others === 0 ? [] : [`${counted(others, 'message')} had no attempt to begin.`]
  if (many === 0) return ['No message is in back-off.', ...rest].join(' ')
  const fates = objectsIn(outcomes).map(fateIn)
  const done =
    fates.length === 0
      ? `The next attempts on ${counted(many, 'message')} begin now.`
      : retriedMany(fates, many)
  return [done, ...rest].join('\n')
}

function fateIn(found: JsonObject): Fate {
  const { id, outcome, error, nextAt, pausedBy, budget } = found
  const pauses = objectsIn(pausedBy ?? null)
  return {
    id: String(id),
    outcome: String(outcome),
    ...(error !== undefined && { error: String(error) }),
    ...(nextAt !== undefined && { nextAt: Number(nextAt) }),
    ...(pauses.length > 0 && { pausedBy: pauses }),
    ...(budget !== undefined && { budget: String(budget) }),
  }
}

/** Outcomes of one message that are not final. */
const WORDS: Readonly<Record<string, string>> = {
  running: 'still running',
  waiting: 'still waiting for its turn',
  replying: 'done, but its reply is not sent yet',
  approval: 'waiting for an approval',
}

/**
 * `30 retried: 28 done, 1 failed again, 1 running.`, and how to see the others. `filters`: those of
 * the command, as words.
 */
export function retriedMany(fates: readonly Fate[], count: number, filters: readonly string[] = []): string {
  const parts = talliesOf(fates)
  const unknown = count - fates.length
  if (unknown > 0) parts.push(`${unknown} not followed`)
  return [
    `${count} retried: ${parts.join(', ')}.`,
    ...nextSteps(fates, filters).map((step) => paragraph('  → ', step)),
  ].join('\n')
}

/** `28 done`, `1 failed again`: how many of each outcome. */
export function talliesOf(fates: readonly Fate[]): string[] {
  const tallies = Object.entries(Object.groupBy(fates, talliedAs)).sort(
    ([one], [other]) => rankOf(one) - rankOf(other),
  )
  return tallies.map(([words, some]) => `${some?.length} ${words}`)
}

/** The order of the tallies. */
const ORDER = ['done', 'failed again', 'failed, tried again later', 'running']

function rankOf(words: string): number {
  return ORDER.includes(words) ? ORDER.indexOf(words) : ORDER.length
}

function talliedAs({ outcome, pausedBy, budget }: Fate): string {
  if (pausedBy !== undefined) return 'paused'
  if (budget !== undefined) return 'waiting for a budget'
  return TALLIED[outcome] ?? outcome
}

const TALLIED: Readonly<Record<string, string>> = {
  dead: 'failed again',
  retrying: 'failed, tried again later',
  retried: 'not failed so far',
  approval: 'waiting for an approval',
  replying: 'done, the reply not sent yet',
  undelivered: 'done, the reply not delivered',
}

/** How to see what is not done. */
export function nextSteps(fates: readonly Fate[], filters: readonly string[] = []): string[] {
  const has = (outcome: string) => fates.some((fate) => fate.outcome === outcome && !fate.pausedBy)
  const pauses = new Map(
    fates.flatMap(({ pausedBy = [] }) => objectsIn(pausedBy).map((pause) => [resumeCommand(pause), pause])),
  )
  return [
    ...(has('dead') ? [`${commandText('dead-letter list', ...filters)} has those that failed again.`] : []),
    ...(has('retrying') ? ['`trivium message list --outcome retrying` has the next attempts.'] : []),
    ...(has('running') || has('waiting')
      ? ['`trivium message list --outcome waiting,running` shows what still runs.']
      : []),
    ...[...pauses].map(([command, { kind, name }]) => `${kind} ${name} is paused: ${command}`),
  ]
}
