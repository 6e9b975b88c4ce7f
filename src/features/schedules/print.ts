import { shownAuthor } from '../../core/author.ts'
import { isJsonObject, type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { listTime, type Printers, secondOf, timeOf } from '../../core/readable.ts'
import { pausedAnswer, pausedText, shortTime } from '../../engine/print/pause-note.ts'
import { ageText } from '../../lib/age-text.ts'
import { argumentsText } from '../../lib/arguments-in-words.ts'
import { commandText } from '../../lib/command-text.ts'
import { counted } from '../../lib/counted.ts'
import { type Column, lineTable } from '../../lib/line-table.ts'
import { paint } from '../../lib/paint.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { noData, type Printable, withNotes } from '../../lib/printed.ts'
import { whenInWords } from '../../lib/schedule-words.ts'
import { age, isTerminal, listAgo, listText } from '../../lib/short-text.ts'
import { skippedInWords } from '../../lib/skipped-in-words.ts'
import { humanPastRun, lastEnd, lateText, RUN_COLUMNS, runRow } from './print/runs.ts'

export const printers: Printers = {
  'schedule-list': (result) => humanSchedules(objectsIn(result)),
  'schedule-show': humanDetails,
  'schedule-create': humanSchedule,
  'schedule-run': humanRun,
  'schedule-pause': (result) => pausedAnswer(result, { sentences: costOf(pathGet(result, 'pause')) }),
  'schedule-resume': (_, { id }) => `The schedule ${id} continues at its next planned time.`,
  'schedule-delete': humanDeletion,
}

/** What a pause skips: see `skippedInWords`. */
function costOf(pause: unknown): string {
  const { toSkip, isMore, nextSkipped, nextRun } = Object(pause)
  return skippedInWords({ toSkip, isMore, nextSkipped, nextRun }, timeOf)
}

const COLUMNS: readonly Column[] = [
  { title: 'id' },
  { title: 'name', least: 12, leftOut: 2 },
  { title: 'when', least: 14 },
  { title: 'next' },
  { title: 'last run', least: 18 },
  { title: 'skill', leftOut: 1 },
  { title: 'from', leftOut: 3 },
  { title: 'arguments', least: 16, leftOut: 4 },
]

/** `schedule-list`: those whose last run failed first. */
function humanSchedules(schedules: readonly JsonObject[]): Printable {
  if (schedules.length === 0) return noData('There are no schedules.')
  const inOrder = schedules.toSorted((a, b) => Number(hasFailed(b)) - Number(hasFailed(a)))
  const rows = inOrder.map((schedule) => [
    schedule.id,
    schedule.name === schedule.id ? '' : schedule.name,
    whenOf(schedule),
    listedNext(schedule),
    lastRunOf(schedule),
    schedule.skill,
    schedule.source ?? schedule.channel,
    listText(argumentsText(schedule.args), 60),
  ])
  return lineTable(COLUMNS, rows)
}

function hasFailed({ lastRun }: JsonObject): boolean {
  return ['failed', 'retrying'].includes(String(pathGet(lastRun, 'outcome')))
}

/** At a terminal `in 57 min`, or `paused, 4 h left`. */
function listedNext(schedule: JsonObject): string {
  const { paused, next } = schedule
  if (!isTerminal()) return nextOf(schedule)
  if (paused) return paint('yellow', pausedFor(pathGet(paused, 'until')))
  if (isJsonObject(schedule.skillPause)) return pausedWith(schedule)
  return typeof next === 'number' ? `in ${ageText(Math.max(0, next - Date.now()))}` : nextOf(schedule)
}

/** Its skill is paused, so that its runs wait. */
function pausedWith({ skill }: JsonObject): string {
  return paint('yellow', `paused with skill ${skill}`)
}

/** The pause of the skill of a schedule, and what it does. */
function skillPauseText(schedule: JsonObject, { until, by, reason }: JsonObject): string {
  const { skill, next } = schedule
  const end = until === undefined ? 'until it is resumed' : `until ${listTime(until, shortTime)}`
  const why = reason === undefined ? '' : `: ${reason}`
  const planned = next === undefined ? 'Its runs wait' : `The next run, planned at ${secondOf(next)}, waits`
  const command = commandText('skill resume', skill)
  return `${pausedWith(schedule)} ${end}, by ${shownAuthor(by)}${why}. ${planned}. ${command} ends the pause`
}

function pausedFor(until: unknown): string {
  return typeof until === 'number' ? `paused, ${ageText(Math.max(0, until - Date.now()))} left` : 'paused'
}

/** At a terminal `failed 6 h ago`; in a pipe with the time at which the run began. */
function lastRunOf(schedule: JsonObject): string {
  if (!isJsonObject(schedule.lastRun)) return 'none known'
  const { startedAt, endedAt, outcome } = schedule.lastRun
  // A pipe has the time at which it began.
  const when = endedAt === undefined ? `for ${age(startedAt)}` : listAgo(startedAt)
  const text = isTerminal() ? `${outcome} ${when}` : String(outcome)
  const end = hasFailed(schedule) ? paint('red', text) : text
  const late = lateText(schedule.lastRun)
  return isTerminal() ? `${end}${late}` : `${listTime(startedAt)} ${end}${late}`
}

/** `schedule-show`. */
function humanDetails(result: Json, { run }: JsonObject = {}): Printable {
  const schedule: JsonObject = Object(result)
  const [only] = objectsIn(schedule.runs)
  if (run !== undefined && only) return humanPastRun(schedule, only)
  const facts = factsOf(schedule).filter(([, text]) => text !== '')
  const longest = Math.max(...facts.map(([title]) => title.length))
  const runs = objectsIn(schedule.runs)
  const text = [
    `${paint('bold', String(schedule.id))}  runs the skill ${schedule.skill}`,
    '',
    ...facts.map(([title, text]) => paragraph(`${title.padEnd(longest)}  `, text)),
    '',
    runs.length === 0 ? 'No run is known.' : lineTable(RUN_COLUMNS, runs.map(runRow)),
    ...lastEnd(runs),
  ].join('\n')
  const oneRun = commandText('schedule show', schedule.id, '--run', 'ID')
  const note = `One run, with its whole error or result: ${oneRun}`
  return runs.length === 0 ? text : withNotes(text, paragraph('', note))
}

function factsOf(schedule: JsonObject): [title: string, text: string][] {
  const { id, name, source, channel, by, created, args, overlap, misfire } = schedule
  const { paused, skillPause } = schedule
  const end = isJsonObject(paused)
    ? `${pausedText(paused)}. ${costOf(paused)}${skippedText(paused)} ${commandText('schedule resume', id)} continues it`
    : isJsonObject(skillPause)
      ? skillPauseText(schedule, skillPause)
      : nextOf(schedule, secondOf)
  return [
    ['name', name === id ? '' : String(name)],
    ['when', whenExactly(schedule)],
    ['next', end],
    ['arguments', argumentsText(args)],
    ['set in', placeText(schedule) ?? String(source ?? channel)],
    [
      'created',
      `${secondOf(Date.parse(String(created)))}${isJsonObject(by) ? ` by ${by.name ?? by.id}` : ''}`,
    ],
    ['overlap', OVERLAP[String(overlap)] ?? ''],
    ['missed', missedText(misfire)],
  ]
}

/** How many planned times a pause has skipped already. */
function skippedText({ skipped, skippedMore }: JsonObject): string {
  const many = Number(skipped ?? 0)
  const least = skippedMore === true ? 'At least ' : ''
  return many === 0
    ? ''
    : ` ${least}${counted(many, 'planned time was', 'planned times were')} skipped so far.`
}

/** `routes.yaml, line 12`; undefined if the schedule is not in a file. */
function placeText({ place }: JsonObject): string | undefined {
  if (!isJsonObject(place)) return undefined
  return place.line === undefined ? String(place.file) : `${place.file}, line ${place.line}`
}

/** What happens to runs that were due while no daemon ran. */
function missedText(misfire: Json | undefined): string {
  const missed = 'runs that were due while no daemon ran'
  if (misfire === 'skip') return `${missed} are left out`
  const within = pathGet(misfire, 'within')
  const limit = within === undefined ? '' : `, if the newest is not older than ${ageText(Number(within))}`
  return `${missed} are made up for by one run${limit}`
}

/** What happens to a run that is due while another one is going on. */
const OVERLAP: Readonly<Record<string, string>> = {
  queue: 'a run that is due while another one goes on waits for its end',
  skip: 'a run that is due while another one goes on is left out',
  allow: 'a run that is due while another one goes on runs beside it',
}
/** `schedule-create`. */
function humanSchedule(result: Json): string {
  const { id, name, skill, next, paused } = Object(result)
  const isPaused = isJsonObject(paused) || paused === true
  const isKnown = next !== undefined || paused !== undefined
  const when = isPaused ? 'paused' : `next at ${timeOf(next)}`
  return `The schedule ${id} (${name}) runs ${skill}${isKnown ? `; ${when}` : ''}.`
}

/** `schedule-run`. With a repeated key, nothing was run. */
function humanRun(result: Json): string {
  const { id, key, repeated } = Object(result)
  if (repeated === true)
    return `The schedule ${id} has already run with the key ${key}; nothing was run again.`
  const pause = pathGet(result, 'skillPause')
  if (!isJsonObject(pause)) return `The schedule ${id} runs now (key ${key}).`
  const { name, until } = pause
  const end = until === undefined ? '' : ` until ${timeOf(until)}`
  const resume = commandText('skill resume', name)
  return paragraph(
    '',
    `The schedule ${id} waits for skill ${name}, which is paused${end}, and then runs (key ${key}). ${resume} ends the pause.`,
  )
}

/** `schedule-delete`. */
function humanDeletion(result: Json, { id }: JsonObject): string {
  return pathGet(result, 'existed') === false
    ? `There was no schedule ${id}.`
    : `The schedule ${id} is deleted.`
}

/** When a schedule runs next. */
function nextOf(schedule: JsonObject, format: (at: unknown) => string = listTime): string {
  const { paused, next } = schedule
  if (!paused && isJsonObject(schedule.skillPause)) return pausedWith(schedule)
  if (paused) {
    const until = pathGet(paused, 'until')
    if (until === undefined) return paint('yellow', 'paused')
    const nextRun = pathGet(paused, 'nextRun')
    const then = nextRun === undefined ? '' : `, then ${listTime(nextRun, shortTime)}`
    return `${paint('yellow', `paused until ${listTime(until, shortTime)}`)}${then}`
  }
  return next === undefined ? 'over' : format(next)
}

/** The times of a schedule in words: `daily at 16:00, UTC`. */
function whenOf({ every, cron, step, timezone }: JsonObject): string {
  const texts = { cron: textIn(cron), step: textIn(step), timezone: textIn(timezone) }
  return whenInWords({ ...texts, every: every === undefined ? undefined : Number(every) }, timeOf)
}

/** The times, and the cron expression if the words do not have it. */
function whenExactly(schedule: JsonObject): string {
  const words = whenOf(schedule)
  const { cron, every } = schedule
  const isShown = every !== undefined || /^\d{4}-/.test(String(cron)) || words.startsWith(String(cron))
  return isShown ? words : `${words} (${cron})`
}

function textIn(value: Json | undefined): string | undefined {
  return value === undefined ? undefined : String(value)
}
