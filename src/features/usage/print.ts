import { isJsonObject, type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import type { Printers } from '../../core/readable.ts'
import { BUDGETS_ARE_SET, budgetLine, WHEN_USED_UP } from '../../engine/print/budget-lines.ts'
import { changeText } from '../../lib/cost-change.ts'
import { counted } from '../../lib/counted.ts'
import { durationText } from '../../lib/duration-text.ts'
import { errorNotes } from '../../lib/error-notes.ts'
import { type Column, lineTable } from '../../lib/line-table.ts'
import { moneyText } from '../../lib/money-text.ts'
import { paint } from '../../lib/paint.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { noData, type Printable } from '../../lib/printed.ts'
import { listAgo, listText, shortId } from '../../lib/short-text.ts'
import { table } from '../../lib/text-table.ts'

export const printers: Printers = {
  cost: humanCost,
  'skill-usage': humanSkillUsage,
}

/** `trivium cost` for people. */
function humanCost(result: Json): string {
  const { by, from, to, total, rows, budgets, split, compared } = Object(result)
  const currency = pathGet(result, 'currency')
  const records = objectsIn(rows)
  const [begin, end] = [from, to].map(shownTime)
  const period = begin === end ? String(begin) : `${begin} to ${end}`
  const listed = objectsIn(budgets).map(budgetLine)
  const limits =
    listed.length > 0
      ? ['', ...[...listed, WHEN_USED_UP, BUDGETS_ARE_SET].map((line) => paragraph('', line))]
      : []
  if (records.length === 0) return [`No model was used (${period}).`, ...limits].join('\n')
  const names = textsIn(pathGet(split, 'names'))
  const amounts = (row: JsonObject) =>
    split === undefined
      ? [row.inputTokens, row.outputTokens, row.steps].map(formatNumber)
      : names.map((name) => partOf(row, name))
  const hasRuns = split === undefined && records.some((row) => row.runs !== undefined)
  const cells = (row: JsonObject) => [
    shownTime(row.name),
    ...amounts(row),
    costOf(row, currency),
    ...(hasRuns ? runsOf(row, currency) : []),
  ]
  const titles = split === undefined ? ['tokens in', 'tokens out', 'steps'] : names
  const change = isJsonObject(compared) ? comparisonLines(compared, currency) : []
  return [
    `Usage of models, ${period}`,
    '',
    table(
      [String(by), ...titles, 'cost', ...(hasRuns ? ['runs', 'cost of a run'] : [])],
      [...records.map(cells), ...(split === undefined ? [cells(Object(total))] : [])],
    ),
    ...(hasRuns ? ['', paragraph('', COST_OF_RUN)] : []),
    ...change,
    ...(Object(total).unpriced === undefined
      ? []
      : ['', 'Tokens without a price are not in the cost: set `prices` of `model` in routes.yaml.']),
    ...limits,
  ].join('\n')
}

/** The number of runs of a skill, and what one of them cost on average. */
function runsOf({ runs, runCost }: JsonObject, currency: unknown): string[] {
  if (typeof runs !== 'number' || runs === 0) return ['', '']
  return [formatNumber(runs), costOfRun(runCost, currency)]
}

/** What an ended run that used a model cost on average; empty if that is not known. */
function costOfRun(runCost: Json | undefined, currency: unknown): string {
  const { runs, money } = Object(runCost)
  return typeof money === 'number' && runs > 0 ? costOf({ money: money / runs }, currency) : ''
}

const COST_OF_RUN =
  'Runs are those that ended in this time. The cost of a run is the average of those that used a model, with all of their steps; a run that waits for an approval counts when it has ended.'

/** `2026-11-28T09:05Z` as `2026-11-28 09:05 UTC`; other names stay. */
function shownTime(name: unknown): string {
  return String(name).replace(/^([\d-]{10})T([\d:]{5})Z$/, '$1 $2 UTC')
}

function textsIn(list: unknown): string[] {
  return Array.isArray(list) ? list.map(String) : []
}

/** The cost of a part of a row; without prices, its tokens. */
function partOf(row: JsonObject, name: string): string {
  const part = objectsIn(row.parts).find((each) => each.name === name)
  if (part === undefined) return '-'
  const { money, inputTokens, outputTokens } = part
  return money === undefined
    ? `${formatNumber(Number(inputTokens) + Number(outputTokens))} tokens`
    : moneyText(Number(money))
}

/** The change from the time before, after an empty line. */
function comparisonLines(compared: JsonObject, currency: unknown): string[] {
  const total = Object(compared.total)
  const before = Object(compared.before)
  const change = changeText(total, before.total)
  const against = `${costOf(before.total, currency)} from ${shownTime(before.from)} to ${shownTime(before.to)}`
  return [
    '',
    paragraph(
      '',
      `${shownTime(compared.from)} to ${shownTime(compared.to)}: ${costOf(total, currency)}${change && `, ${change}`}, against ${against}.`,
    ),
  ]
}

/** The cost as text. Says so if it is incomplete, because some usage has no price. */
export function costOf({ money, unpriced }: JsonObject, currency: unknown): string {
  if (money === undefined) return 'no price'
  const amount = `${moneyText(Number(money))}${currency === undefined ? '' : ` ${currency}`}`
  return unpriced === undefined ? amount : `${amount}, and ${formatNumber(unpriced)} tokens without a price`
}

export function formatNumber(value: unknown): string {
  return Number(value).toLocaleString('en')
}

/** `trivium skill usage`, for all skills or for one. */
function humanSkillUsage(result: Json): Printable {
  if (Array.isArray(result)) {
    // The others have only their last run.
    const ran = objectsIn(result).filter(({ runs, running }) => Number(runs) > 0 || running !== undefined)
    const rows = ran.map((one) => [one.name, ...figures(one), lastOf(one)])
    return rows.length === 0
      ? noData('No skill has run in this time.')
      : lineTable(
          ['skill', 'runs', 'failed', 'p50', 'p95', 'last'].map((title) => ({ title })),
          rows,
        )
  }
  if (!isJsonObject(result)) return String(result)
  const runs = objectsIn(result.recent)
  const hasCost = runs.some(({ cost }) => cost !== undefined)
  const recent = runs.map(({ at, by, ms, code, error, messageId, cost, test }) => [
    listAgo(at),
    test === true ? `test: ${endOf(code)}` : endOf(code),
    formatMs(ms),
    ...(hasCost ? [isJsonObject(cost) ? runCostText(cost, result.currency) : ''] : []),
    by,
    messageId === undefined ? '' : shortId(messageId),
    error === undefined ? '' : listText(String(error), MAX_ERROR),
  ])
  const columns = RUN_COLUMNS.filter(({ title }) => hasCost || title !== 'cost')
  return [
    `${paint('bold', String(result.name))}, ${result.from} to ${result.to}: ${runsText(result)}`,
    `Called by: ${callersText(result.callers) || 'nobody'}`,
    ...errorsOf(result),
    ...(recent.length > 0 ? ['', lineTable(columns, recent)] : []),
    ...(isCut(result) ? ['', `The newest ${MAX_RUNS} runs are kept.`] : []),
    ...(runs.some(({ messageId }) => messageId !== undefined)
      ? ['', paragraph('', '`trivium message show ID` has what a run returned or sent.')]
      : []),
  ].join('\n')
}

/** The cost of one run; its tokens, if nothing has a price. */
function runCostText({ money, unpriced, inputTokens, outputTokens }: JsonObject, currency: unknown): string {
  if (money === undefined) return `${formatNumber(Number(inputTokens) + Number(outputTokens))} tokens`
  return `${costOf({ money }, currency)}${unpriced === undefined ? '' : ' + ?'}`
}

/** Maximum characters of an error at a terminal. */
const MAX_ERROR = 80

const RUN_COLUMNS: readonly Column[] = [
  { title: 'last runs', piped: 'ended' },
  { title: 'outcome' },
  { title: 'took' },
  { title: 'cost', leftOut: 0 },
  { title: 'called by', leftOut: 1 },
  { title: 'message' },
  { title: 'error', least: 20, wraps: true },
]

/** The number of runs of a skill that are stored one by one. */
const MAX_RUNS = 100

/** Whether a list of runs of any outcome ends where earlier ones are not kept one by one. */
function isCut({ runs, recent, more }: JsonObject): boolean {
  const listed = objectsIn(recent)
  const isOfAnyOutcome = listed.some(({ code }) => code === undefined)
  return isOfAnyOutcome && more === false && listed.length === MAX_RUNS && Number(runs) > MAX_RUNS
}

/** `12 runs, 3 failed (of 1 message), p50 4ms, p95 1.2s`. */
export function runsText(usage: JsonObject): string {
  const [runs, failed, p50, p95] = figures(usage)
  const cancelled = Number(usage.cancelled) > 0 ? `, ${formatNumber(usage.cancelled)} cancelled` : ''
  const messages = retriedText(usage.failedMessages, usage.failed)
  const of = messages === '' ? '' : ` (of ${messages})`
  const tests = Number(usage.tests ?? 0) > 0 ? `, without ${counted(Number(usage.tests), 'test')}` : ''
  return `${runs} ${runs === '1' ? 'run' : 'runs'}, ${failed} failed${of}${cancelled}, p50 ${p50}, p95 ${p95}${tests}`
}

/** `route orders (12), schedule night (1)`. */
export function callersText(callers: Json | undefined): string {
  return objectsIn(callers)
    .map(({ by, runs }) => `${by} (${formatNumber(runs)})`)
    .join(', ')
}

/**
 * The number of messages of runs, such as `42 messages`. Empty if it says nothing new: each had one
 * attempt.
 */
export function retriedText(messages: Json | undefined, runs: Json | undefined): string {
  if (typeof messages !== 'number' || messages === runs) return ''
  return counted(messages, 'message')
}

/**
 * The errors of a skill after an empty line, and a note if they are not those of all failed runs;
 * nothing without errors.
 */
export function errorsOf(usage: JsonObject): string[] {
  const { errors } = usage
  const rows = objectsIn(errors).map(({ count, messages, code, error, firstAt, lastAt }) => [
    [formatNumber(count), retriedText(messages, count)].filter(Boolean).join(' of '),
    code,
    listText(String(error), MAX_ERROR),
    firstAt === undefined ? '' : listAgo(firstAt),
    listAgo(lastAt),
  ])
  const notes = errorNotes(usage).map((note) => paragraph('', note))
  return rows.length > 0 ? ['', lineTable(ERROR_COLUMNS, rows), ...notes] : []
}

const ERROR_COLUMNS: readonly Column[] = [
  { title: 'errors' },
  { title: 'code', leftOut: 1 },
  { title: 'error', least: 20, wraps: true },
  { title: 'first' },
  { title: 'last' },
]

/** The end of a run, by its error code. */
export function endOf(code: Json | undefined): string {
  if (code === undefined) return paint('green', 'done')
  return code === 'run_cancelled' ? 'cancelled' : paint('red', String(code))
}

function figures(usage: JsonObject): string[] {
  const { runs, failed } = usage
  return [
    formatNumber(runs),
    Number(failed) > 0 ? paint('red', formatNumber(failed)) : '0',
    quantileText(usage, 'p50'),
    quantileText(usage, 'p95'),
  ]
}

function lastOf({ lastAt }: JsonObject): string {
  return lastAt === undefined ? '' : listAgo(lastAt)
}

/** A duration of a skill's statistics. `≈`: estimated, because not each run is stored. */
export function quantileText(usage: JsonObject, name: 'p50' | 'p95'): string {
  const isEstimate = usage.isEstimated === true && usage[name] !== undefined
  return `${isEstimate ? '≈ ' : ''}${formatMs(usage[name])}`
}

function formatMs(ms: unknown): string {
  return typeof ms === 'number' ? durationText(ms) : '-'
}
