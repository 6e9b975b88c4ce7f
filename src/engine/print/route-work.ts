import { isJsonObject, type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { timeOf } from '../../core/readable.ts'
import { counted } from '../../lib/counted.ts'
import { durationText } from '../../lib/duration-text.ts'
import { factLines } from '../../lib/fact-lines.ts'
import { paint } from '../../lib/paint.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { age } from '../../lib/short-text.ts'
import { table } from '../../lib/text-table.ts'
import { shortError } from './letter-causes.ts'

/** What is wrong with the gateways of a route, each with the command that shows more. */
export function gatewayProblems({ gatewayTroubles }: JsonObject): string[] {
  return objectsIn(gatewayTroubles).flatMap(({ gateway, what: fault, text, since }) => {
    const what = `Its gateway ${gateway} ${fault}`
    const sinceWhen = typeof since === 'number' ? ` since ${timeOf(since)} (${age(since)})` : ''
    return [
      paragraph('', `${paint('red', `${what}${sinceWhen}`)}: ${text}`),
      paragraph('  → ', `\`trivium gateway show ${gateway}\` has what to do.`),
    ]
  })
}

/** The failed attempts of each time, whenever their messages arrived. */
function attemptsLine(known: readonly { name: string; work: JsonObject }[]): string[] {
  const texts = known.flatMap(({ name, work: { attempts, failedAttempts } }) =>
    failedAttempts === undefined
      ? []
      : [`${redIfAny(partOf(failedAttempts, attempts))} of ${number(attempts)} in the ${name}`],
  )
  if (texts.length === 0) return []
  return [paragraph('', `Failed attempts: ${texts.join(', ')}, whenever their messages arrived.`)]
}

/**
 * The messages that arrived in the last hour and day, or in a chosen time (`period`, with its `name`): how many of them failed, and how long they
 * took. Those that are `waiting` now have no time yet.
 */
export function workTable({ lastHour, lastDay, period, waiting }: JsonObject): string[] {
  const periods: [name: string, work: Json | undefined][] = [
    ['last hour', lastHour],
    ['last day', lastDay],
    [String(pathGet(period ?? null, 'name')), period],
  ]
  const known = periods.flatMap(([name, work]) => (isJsonObject(work) ? [{ name, work }] : []))
  if (known.length === 0) return []
  const rows = known.map(({ name, work: { messages, failed, retried, retriedOf, waited, ran } }) => [
    name,
    number(messages),
    redIfAny(partOf(failed, messages)),
    timesOf(waited),
    timesOf(ran),
    retried === undefined ? '' : partOf(retried, retriedOf ?? messages),
  ])
  const samples = known.filter(({ work }) => work.examined !== undefined)
  const isExact = samples.every(({ work: { retriedOf, messages } }) => retriedOf === messages)
  const note = samples.map(({ name, work: { examined } }) => `${name}: of a sample of ${number(examined)}`)
  return [
    table(
      // In a pipe, too, a line has room in a usual terminal.
      ['', 'arrived', 'failed', 'waited p50/p95', 'ran p50/p95', 'retried'],
      rows,
    ),
    ...attemptsLine(known),
    ...(note.length > 0
      ? [paragraph('', `Times${isExact ? '' : ' and attempts'} of the ${note.join(', of the ')} messages.`)]
      : []),
    ...(Number(waiting ?? 0) > 0
      ? [
          paragraph(
            '',
            `The times are without the ${counted(Number(waiting), 'message')} that still ${Number(waiting) === 1 ? 'waits' : 'wait'}.`,
          ),
        ]
      : []),
    '',
  ]
}

/** The errors of the dead letters of a route, each with the command that retries them. */
export function causesOf({ causes }: JsonObject): string[] {
  const lines = objectsIn(causes).flatMap(({ count, error, first, last, command }) => {
    const times = age(first) === age(last) ? `${age(last)} ago` : `${age(first)} to ${age(last)} ago`
    return [
      paragraph('', `${paint('bold', `${number(count)} ×`)} ${shortError(String(error))} (${times})`),
      paragraph('  → ', `\`${command}\` retries ${count === 1 ? 'it' : 'them'}.`),
    ]
  })
  return lines.length === 0 ? [] : ['', paint('bold', 'Dead letters'), ...lines]
}

/** `message-durations`. */
export function humanDurations(found: Json): string {
  const { from, to, total, examined, retried, retriedOf, waited, ran } = Object(found)
  const isExact = retriedOf === total
  const sample =
    examined < total
      ? `; ${isExact ? 'the times are' : 'all numbers are'} of a sample of ${number(examined)}`
      : ''
  return [
    `${counted(Number(total), 'message')} from ${timeOf(from)} to ${timeOf(to)}${sample}`,
    ...factLines([
      ['waited, p50 / p95', timesOf(waited)],
      ['ran, p50 / p95', timesOf(ran)],
      ['more than one attempt', partOf(retried, retriedOf)],
    ]),
  ].join('\n')
}

/** `8 (38 %)`. */
function partOf(part: unknown, of: unknown): string {
  if (Number(part) === 0) return '0'
  return `${number(part)} (${Math.round((100 * Number(part)) / Math.max(1, Number(of)))} %)`
}

function redIfAny(part: string): string {
  return part === '0' ? part : paint('red', part)
}

function timesOf(times: unknown): string {
  const { p50, p95 } = Object(times)
  return p50 === undefined ? '-' : `${durationText(p50)} / ${durationText(p95)}`
}

function number(value: unknown): string {
  return Number(value).toLocaleString('en')
}
