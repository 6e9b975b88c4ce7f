import { shownAuthor } from '../../../core/author.ts'
import { isJsonObject, type JsonObject } from '../../../core/json.ts'
import { secondOf } from '../../../core/readable.ts'
import { ageText } from '../../../lib/age-text.ts'
import { commandText } from '../../../lib/command-text.ts'
import { factLines } from '../../../lib/fact-lines.ts'
import type { Column } from '../../../lib/line-table.ts'
import { paint } from '../../../lib/paint.ts'
import { age, listText } from '../../../lib/short-text.ts'

/** A start that was delayed by less than this (ms) is not shown as late. */
const LATE = 30_000

/** A run as a row of `RUN_COLUMNS`. */
export function runRow(run: JsonObject): unknown[] {
  return [
    run.id,
    run.planned === undefined ? '' : secondOf(run.planned),
    secondOf(run.startedAt),
    startOf(run),
    `${lateText(run).replace(/^, /, '')}${causeText(run)}`,
    run.endedAt === undefined ? `for ${age(run.startedAt)}` : tookText(run),
    run.outcome === 'failed' ? paint('red', 'failed') : run.outcome,
    listText(String(run.error ?? run.result ?? ''), LONGEST_TEXT),
  ]
}

/** Who started a run by hand; empty for a planned one. */
function startOf({ manual, by }: JsonObject): string {
  if (manual !== true) return ''
  return by === undefined ? 'by hand' : shownAuthor(by)
}

/** One run, with its whole error or result. */
export function humanPastRun(schedule: JsonObject, run: JsonObject): string {
  const { planned, startedAt, endedAt, outcome, error, result, letter } = run
  const facts: [string, string][] = [
    ['schedule', String(schedule.id)],
    ['skill', String(schedule.skill)],
    ['planned', planned === undefined ? '' : secondOf(planned)],
    ['started by', startOf(run)],
    ['began', secondOf(startedAt)],
    ['late', `${lateText(run).replace(/^, /, '')}${causeText(run)}`],
    ['ended', endedAt === undefined ? '' : `${secondOf(endedAt)}, after ${tookText(run)}`],
    ['outcome', String(outcome)],
  ]
  const text = error ?? result
  return [
    ...factLines([['run', String(run.id)], ...facts]),
    ...(text === undefined ? [] : ['', error === undefined ? 'It returned:' : 'Its error:', String(text)]),
    ...(letter === undefined ? [] : ['', `Its dead letter: ${commandText('dead-letter show', letter)}`]),
  ].join('\n')
}

/** What the newest run returned, or why it failed. */
export function lastEnd([run]: readonly JsonObject[]): string[] {
  if (run?.error !== undefined) return ['', 'The last run failed:', String(run.error)]
  return run?.result === undefined ? [] : ['', 'The last run returned:', String(run.result)]
}

/** Maximum characters of an error or result in the list of runs. */
const LONGEST_TEXT = 200
export const RUN_COLUMNS: readonly Column[] = [
  { title: 'id' },
  { title: 'planned' },
  { title: 'began', leftOut: 2 },
  { title: 'by', least: 8, leftOut: 0 },
  { title: 'late', least: 11 },
  { title: 'took' },
  { title: 'outcome' },
  { title: 'error or result', least: 15, leftOut: 1 },
]

/** `, 47 min late`. Empty for a run in time, and for one that somebody started. */
export function lateText({ planned, startedAt }: JsonObject): string {
  const delay = planned === undefined ? 0 : Number(startedAt) - Number(planned)
  return delay < LATE ? '' : `, ${ageText(delay)} late`
}

/** `: the daemon started at 10:47`. Empty if the cause is not known. */
function causeText({ lateBecause }: JsonObject): string {
  if (!isJsonObject(lateBecause)) return ''
  const cause = LATE_CAUSES[String(lateBecause.cause)]
  return cause === undefined ? '' : `: ${cause} ${secondOf(lateBecause.until)}`
}

/** Why a run began late. The time follows. */
const LATE_CAUSES: Readonly<Record<string, string>> = {
  daemon_start: 'the daemon started at',
  skill_paused: 'the skill was paused until',
  previous_run: 'the run before ended at',
}

function tookText({ startedAt, endedAt }: JsonObject): string {
  return ageText(Number(endedAt) - Number(startedAt))
}
