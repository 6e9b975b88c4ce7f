import { isJsonObject, type Json, type JsonObject, objectsIn } from '../core/json.ts'
import { budgetLine } from '../engine/print/budget-lines.ts'
import { pausedText, pausedUntil, pauseNote } from '../engine/print/pause-note.ts'
import { usedUpNote, usedUpText } from '../engine/print/used-up-note.ts'
import { waitingNote } from '../engine/print/waiting-note.ts'
import {
  callersText,
  costOf,
  endOf,
  errorsOf,
  formatNumber,
  quantileText,
  retriedText,
  runsText,
} from '../features/usage/print.ts'
import { ageText } from '../lib/age-text.ts'
import { attemptLimits } from '../lib/attempt-limits.ts'
import { commandText } from '../lib/command-text.ts'
import { counted } from '../lib/counted.ts'
import { type Column, lineTable } from '../lib/line-table.ts'
import { metadataRows } from '../lib/metadata-in-words.ts'
import { paint } from '../lib/paint.ts'
import { paragraph } from '../lib/paragraph.ts'
import { type Printable, withNotes } from '../lib/printed.ts'
import { age, isTerminal, listAge, listAgo, listText } from '../lib/short-text.ts'
import { table } from '../lib/text-table.ts'

/**
 * `skill list`: own skills with their runs of the last seven days, then the others, then broken
 * ones.
 */
export function humanSkills(skills: readonly JsonObject[], broken: unknown, all: boolean): Printable {
  const own = skills.filter(isOwn)
  const shipped = skills.filter((one) => !isOwn(one))
  const words = shipped.filter(isWord)
  const builtIn = shipped.filter((one) => !isWord(one))
  const faults = objectsIn(broken).map(({ name, path, reason, kept }) => {
    return [name, path, kept === true ? `${reason} (its last good version answers)` : reason]
  })
  const others = [
    counted(builtIn.length, 'built-in skill'),
    words.length > 0 && counted(words.length, 'word of the assistant', 'words of the assistant'),
  ]
  const hasRuns = own.some(({ usage }) => usage !== undefined)
  const tables = [
    ...(own.length > 0 ? [named('name', own)] : []),
    ...(all && words.length > 0 ? [named('word of the assistant', words)] : []),
    ...(all ? [named('built in', builtIn)] : []),
    ...(faults.length > 0 ? [table(['broken', 'path', 'why'], faults)] : []),
  ]
  return withNotes(
    tables.join('\n\n'),
    ...(own.length === 0 ? ['No skills of your own: `trivium skill new NAME` makes one.'] : []),
    ...(hasRuns ? [paragraph('', RUNS_NOTE)] : []),
    ...(all ? [] : [`${others.filter(Boolean).join(', ')}: \`trivium skill list --all\``]),
  )
}

const RUNS_NOTE = 'Runs are those of the last 7 days. `trivium skill show NAME` has the errors and callers.'

/** Skills of the project, and shipped ones that ran, as in the console. */
const isOwn = ({ shipped, kind, usage }: JsonObject) =>
  shipped !== true || (kind !== 'prefix' && kind !== 'built-in' && usage !== undefined)
const isWord = ({ kind }: JsonObject) => kind === 'prefix'

function named(title: string, skills: readonly JsonObject[]): string {
  const columns: readonly Column[] = [
    { title },
    { title: 'state', least: 16, wraps: true, leftOut: 0 },
    { title: 'waiting', leftOut: 0 },
    { title: 'last run', least: 12, leftOut: 4 },
    { title: 'runs', leftOut: 1 },
    { title: 'failed', leftOut: 1 },
    { title: 'p95', leftOut: 3 },
    { title: 'cost', leftOut: 2 },
    { title: 'called by', least: 20, leftOut: 5 },
    { title: 'what it does', least: 24, ...(skills.some(({ usage }) => usage) && { leftOut: 6 }) },
  ]
  return lineTable(columns, skills.map(rowOf))
}

function rowOf(skill: JsonObject): unknown[] {
  const { name, description = '', replaces } = skill
  const about = listText(`${replaces === true ? 'replaces the built-in skill: ' : ''}${description}`, 90)
  const state = stateOf(skill)
  const held = Number(Object(skill.paused).waiting ?? 0)
  const waiting = held === 0 ? '' : formatNumber(held)
  if (!isJsonObject(skill.usage))
    return [name, state, waiting, '', '', '', '', '', routesWithoutRuns(skill).join(', '), about]
  const { usage, currency } = skill
  return [
    name,
    state,
    waiting,
    lastRunOf(usage),
    formatNumber(usage.runs),
    failedOf(usage),
    quantileText(usage, 'p95'),
    usage.money === undefined ? '' : costOf(usage, currency),
    [...objectsIn(usage.callers).map(({ by }) => String(by)), ...routesWithoutRuns(skill)].join(', '),
    about,
  ]
}

/** `paused until 11:56 UTC by ada, 5 wait for approval`; in a narrow terminal without who and why. */
function stateOf({ paused, usedUp, approvals }: JsonObject): string {
  return [
    ...(isJsonObject(paused) ? [isNarrow() ? paint('yellow', pausedUntil(paused)) : pausedText(paused)] : []),
    ...(isJsonObject(usedUp) ? [usedUpText(usedUp)] : []),
    ...(Number(approvals) > 0
      ? [paint('yellow', `${counted(Number(approvals), 'waits', 'wait')} for approval`)]
      : []),
  ].join(', ')
}

/** `failed 3 s ago`, and how many run now. */
function lastRunOf({ lastAt, lastCode, running, runningSince }: JsonObject): string {
  const isGood = lastCode === undefined || lastCode === 'run_cancelled'
  const word = isGood ? endOf(lastCode) : paint('red', 'failed')
  const last = lastAt === undefined ? [] : [`${word} ${listAgo(lastAt)}`]
  const many = Array.isArray(running) ? running.length : Number(running ?? 0)
  const since = runningSince ?? objectsIn(running)[0]?.since
  const now =
    many > 0 ? [`${formatNumber(many)} running ${since === undefined ? '' : sinceText(since)}`.trim()] : []
  return [...now, ...last].join(', ')
}

/** `for 12 min`; in a pipe `since 2026-11-30T04:52:11.894Z`. */
function sinceText(at: unknown): string {
  return isTerminal() ? `for ${age(at)}` : `since ${listAge(at)}`
}

function failedOf({ failed, errorRate, failedMessages }: JsonObject): string {
  if (Number(failed) === 0) return '0'
  const runs = `${formatNumber(failed)} (${(100 * Number(errorRate)).toFixed(1)} %)`
  const messages = isNarrow() ? '' : retriedText(failedMessages, failed)
  return paint('red', [runs, messages].filter(Boolean).join(' of '))
}

/** Minimum width of a terminal with the messages of failed runs, and the reasons of pauses. */
const WIDE = 100

const isNarrow = () => isTerminal() && process.stdout.columns < WIDE

/** The routes of a skill that have called it in no counted run. */
function routesWithoutRuns({ routes, usage }: JsonObject): string[] {
  const names = Array.isArray(routes) ? routes.map((route) => `route ${route}`) : []
  const callers = objectsIn(Object(usage).callers).map(({ by }) => by)
  return names.filter((name) => !callers.includes(name))
}

/** `skill show`: a skill, its pause and its runs, then its arguments, metadata and layers. */
export function humanSkill(skill: Json): string {
  const {
    name,
    description,
    kind,
    path,
    args,
    output,
    metadata,
    layers,
    paused,
    usedUp,
    approvals,
    pauseEffect,
    budgets,
  } = Object(skill)
  const { properties = {}, required = [] } = Object(args)
  const rows = Object.entries(Object(properties)).map(([property, schema]) => [
    property,
    typeOf(Object(schema)),
    required.includes(property) ? 'yes' : '',
    Object(schema).default === undefined ? '' : JSON.stringify(Object(schema).default),
    Object(schema).description ?? '',
  ])
  const layerRows = objectsIn(layers).map((layer) => [layer.name, layer.order, layer.description])
  const facts = metadataRows(Object(metadata))
  return [
    `${paint('bold', String(name))}${kind ? ` (${kind})` : ''}`,
    ...(description ? [String(description)] : []),
    ...(path ? [String(path)] : []),
    ...(isJsonObject(paused) ? ['', ...pauseLines(paused, pauseEffect)] : []),
    ...usedUpNote(usedUp),
    ...waitingNote(approvals),
    ...objectsIn(budgets ?? null).map((budget) => paragraph('', budgetLine(budget))),
    ...usageOf(Object(skill)),
    '',
    rows.length > 0 ? table(['argument', 'type', 'required', 'default', ''], rows) : 'It takes no arguments.',
    ...(output ? ['', `Returns ${typeOf(Object(output))}.`] : []),
    ...(facts.length > 0 ? ['', table(['metadata', ''], facts)] : []),
    ...(layerRows.length > 0 ? ['', table(['layer', 'order', ''], layerRows)] : []),
  ].join('\n')
}

/** The pause of a skill, and what it holds. */
function pauseLines(paused: JsonObject, effect: unknown): string[] {
  return [...(typeof effect === 'string' ? [paragraph('', effect)] : []), pauseNote(paused)]
}

/** How a skill did in the last seven days. Built-in skills that did not run have no such lines. */
function usageOf(skill: JsonObject): string[] {
  const { name, kind, usage, currency } = skill
  if (!isJsonObject(usage)) return []
  const { runs, running, cost } = usage
  const others = routesWithoutRuns(skill)
  const hasRun = Number(runs) > 0 || objectsIn(running).length > 0
  if (!hasRun && others.length === 0 && kind === 'built-in') return []
  const price = isJsonObject(cost) ? `, cost ${costOf(cost, currency)}` : ''
  const callers = [callersText(usage.callers), ...others.map((route) => `${route} (no run)`)]
  const facts: [title: string, text: string][] = [
    ['last 7 days', Number(runs) > 0 ? `${runsText(usage)}${price}` : 'no run'],
    ['last run', lastRunOf(usage)],
    ['tried again', againText(objectsIn(skill.retried))],
    ['attempts', limitsText(objectsIn(skill.limits), Object(skill.metadata).timeout)],
    ['called by', callers.filter((text) => text !== '').join(', ') || 'nobody'],
  ]
  return [
    '',
    ...facts.filter(([, text]) => text !== '').map(([title, text]) => paragraph(title.padEnd(13), text)),
    ...errorsOf(usage),
    ...cancelHint(objectsIn(running)),
    ...(hasRun ? [paragraph('  → ', `\`trivium skill usage ${name}\` has its last runs.`)] : []),
  ]
}

/** `4 messages, the next in 12 min`; in a pipe with the time of the next attempt. */
function againText(retried: readonly JsonObject[]): string {
  const [next] = retried
  if (!next) return ''
  const many = counted(retried.length, 'message')
  if (typeof next.nextAt !== 'number') return many
  const left = next.nextAt - Date.now()
  if (!isTerminal()) return `${many}, the next ${listAge(next.nextAt)}`
  return `${many}, the next ${left > 0 ? `in ${ageText(left)}` : 'now'}`
}

/** `up to 4, each up to 1 min`; of several routes, each with its name. */
function limitsText(routes: readonly JsonObject[], timeout: unknown): string {
  const texts = routes.map((route) => ({ route: route.route, text: attemptLimits(route, timeout) }))
  const [only] = texts
  if (only && texts.every(({ text }) => text === only.text)) return only.text
  return texts.map(({ route, text }) => `route ${route}: ${text}`).join('; ')
}

/** The command that ends the oldest run, if it is that of a route. */
function cancelHint(running: readonly JsonObject[]): string[] {
  const run = running.find(({ by, messageId }) => messageId !== undefined && /^route /.test(String(by)))
  if (!run) return []
  const oldest = running.length > 1 ? 'the oldest run' : 'the run'
  return [paragraph('  → ', `${commandText('run cancel', run.messageId)} ends ${oldest}.`)]
}

/** The type of a JSON Schema, for people: `list of string`, `"a" | "b"`. */
function typeOf(schema: JsonObject): string {
  if (Array.isArray(schema.enum)) return schema.enum.map((one) => JSON.stringify(one)).join(' | ')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  const choices = objectsIn(schema.anyOf ?? schema.oneOf)
  if (choices.length > 0) return choices.map(typeOf).join(' | ')
  if (schema.type === 'array') return `list of ${typeOf(Object(schema.items))}`
  return [schema.type ?? 'any'].flat().join(' | ')
}
