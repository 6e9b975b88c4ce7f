import { shownAuthor } from '../../core/author.ts'
import { isJsonObject, type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { type Printers, secondOf, timeOf } from '../../core/readable.ts'
import { cancelledText } from '../../lib/cancelled-job.ts'
import { commandText } from '../../lib/command-text.ts'
import { counted } from '../../lib/counted.ts'
import { durationText } from '../../lib/duration-text.ts'
import { sinceCounts, sinceWord } from '../../lib/later-word.ts'
import { type Column, lineTable } from '../../lib/line-table.ts'
import { paint } from '../../lib/paint.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { noData, type Printable } from '../../lib/printed.ts'
import { age, listAge, listText } from '../../lib/short-text.ts'
import { countTable } from './erased-counts.ts'
import { groupLines } from './job-groups.ts'
import { humanItems } from './job-items.ts'
import { jobSteps, unfinishedLines, waitLines } from './job-steps.ts'
import {
  aboutJob,
  afterErasure,
  filterOfJob,
  laterText,
  paceOf,
  resultOf,
  shortAboutJob,
  shortJobId,
  shortProgressOf,
  shortResultOf,
  stateWord,
  waitSummary,
} from './job-words.ts'

export const printers: Printers = {
  'job-list': humanJobs,
  'job-show': humanJob,
  'job-items': humanItems,
  'job-cancel': humanCancelled,
}

const PIPED: readonly Column[] = ['id', 'time', 'state', 'progress', 'by', 'what', 'result'].map((title) => ({
  title,
}))
/** At a terminal, the outcome includes the progress, and comes before the texts that are cut. */
const COLUMNS: readonly Column[] = [
  { title: 'id' },
  { title: 'age' },
  { title: 'state', least: 13 },
  { title: 'outcome', least: 22, wraps: true, cutLast: true },
  { title: 'what', least: 20, wraps: true },
  { title: 'by', least: 12, share: 0.18, leftOut: 2 },
]
const LONGEST_TEXT = 160

/** Somebody may look for a run here. */
const NOT_ATTEMPTS = 'What else runs now: `trivium run list`'

/** `job-list`. */
function humanJobs(result: Json): Printable {
  const jobs = objectsIn(result)
  if (jobs.length === 0) return noData('There are no jobs.', NOT_ATTEMPTS)
  return process.stdout.isTTY
    ? lineTable(COLUMNS, jobs.map(terminalRow))
    : lineTable(PIPED, jobs.map(pipedRow))
}

function terminalRow(job: JsonObject): unknown[] {
  const what = listText(shortAboutJob(job), LONGEST_TEXT)
  return [shortJobId(job.id), listAge(job.startedAt), stateOf(job), outcomeOf(job), what, shownAuthor(job.by)]
}

/** A pipe has the value of the filter by author. */
function pipedRow(job: JsonObject): unknown[] {
  const what = listText(shortAboutJob(job), LONGEST_TEXT)
  const progress = isWithdrawn(job) ? '' : shortProgressOf(job)
  const result = withLater(shortResultOf(job), job)
  return [shortJobId(job.id), listAge(job.startedAt), stateOf(job), progress, job.by, what, result]
}

/** The result of a job, with the progress of one that is not done. */
function outcomeOf(job: JsonObject): string {
  const progress = job.state === 'done' || isInResult(job) ? '' : shortProgressOf(job)
  const reader = objectsIn(job.waitsFor ?? null).some(({ kind }) => kind === 'reader') ? waitSummary(job) : ''
  return [withLater(shortResultOf(job), job), paceOf(job), reader, progress].filter(Boolean).join(', ')
}

/** `201 withdrawn, 201 delivered in job 2f8e0c11`. */
function withLater(text: string, { later }: JsonObject): string {
  const since = sinceCounts(later).map((each) => `${each.count} ${sinceWord(each)}`)
  return [text, ...since].filter(Boolean).join(', ')
}

/** `job-show`: what it does, how far it is, what it did, what it waits for and what to do. */
function humanJob(result: Json): string {
  const job: JsonObject = Object(result)
  const { id, by, startedAt, retryAt } = job
  const facts = [
    ['state', [stateOf(job), cancelledOf(job)].filter(Boolean).join(' ')],
    ['filter', filterOfJob(job)],
    ['progress', isInResult(job) ? '' : shortProgressOf(job)],
    ['speed', paceOf(job)],
    ['result', resultOf(job)],
    ['since', laterText(job)],
    ...waitLines(job).map((text) => ['waits for', text]),
    ['started', `${secondOf(startedAt)} (${age(startedAt)} ago) by ${shownAuthor(by)}`],
    ...endsOf(job),
    ['next try', retryAt === undefined ? '' : timeOf(retryAt)],
  ].filter(([, text]) => text !== '')
  return [
    paragraph('', `${paint('bold', shortJobId(id))}  ${aboutJob(job)}`),
    '',
    ...facts.map(([title = '', text = '']) => paragraph(`${title.padEnd(9)}  `, text)),
    ...erasedRecords(job),
    ...afterErasure(job.result ?? null),
    ...groupLines(job),
    ...unfinishedLines(job),
    ...jobSteps(job),
  ].join('\n')
}

/** Whether the result of a job that is done has its numbers: an erasure has the number of records. */
function isInResult(job: JsonObject): boolean {
  if (isWithdrawn(job)) return true
  return job.state === 'done' && job.kind !== 'person-erase' && resultOf(job) !== ''
}

/** Whether a job had queued everything, and some of that was withdrawn: its own progress says nothing. */
function isWithdrawn({ kind, result, done, total }: JsonObject): boolean {
  return kind !== 'person-erase' && pathGet(result ?? null, 'withdrawn') !== undefined && done === total
}

/** When a job was cancelled, and by whom. Missing in jobs of older versions. */
function cancelledOf({ startedAt, cancelled }: JsonObject): string {
  if (!isJsonObject(cancelled)) return ''
  const by = cancelled.by === undefined ? '' : ` by ${shownAuthor(cancelled.by)}`
  const after = durationText(Math.max(0, Number(cancelled.at) - Number(startedAt)))
  return `${secondOf(cancelled.at)}${by}, after ${after}`
}

/** When a job ended, and when everything that it queued was delivered. */
function endsOf(job: JsonObject): string[][] {
  const { kind, state, startedAt, endedAt, delivering, settledAt, target, cancelled } = job
  if (typeof endedAt !== 'number') return []
  const took = (at: number) => `${secondOf(at)}, after ${durationText(Math.max(0, at - Number(startedAt)))}`
  // The state shows when it was cancelled, and the result the numbers.
  if (isJsonObject(cancelled)) {
    const isDelivered = kind === 'replay' && typeof settledAt === 'number'
    return isDelivered ? [['delivered', `the last at ${took(settledAt)}`]] : []
  }
  if (delivering === true)
    return [['running', `for ${age(startedAt)}; queueing took ${durationText(endedAt - Number(startedAt))}`]]
  if (typeof settledAt === 'number') return [[kind === 'replay' ? 'delivered' : 'ended', took(settledAt)]]
  const isQueueing = kind === 'replay' || pathGet(target, 'do') === 'retry'
  return [[state === 'done' && isQueueing ? 'queued' : 'ended', took(endedAt)]]
}

/** What an erasure erased, by place and kind. */
function erasedRecords({ kind, state, result }: JsonObject): string[] {
  const counts = pathGet(result, 'counts')
  if (kind !== 'person-erase' || !isJsonObject(counts)) return []
  if (Object.keys(counts).length === 0 && state !== 'done') return []
  return ['', countTable(Object(result)), '']
}

/** The result of a command that starts a long job, or of its dry run. */
export function humanStartedJob(result: Json): string {
  const job = pathGet(result, 'job')
  return isJsonObject(job) ? humanBegun(job) : humanCount(Object(result))
}

/** `job-cancel`: what it had done, and what became of what it queued. */
function humanCancelled(result: Json): string {
  const job: JsonObject = Object(result)
  const parts = { ...job, outcomes: Object(job.outcomes ?? {}) }
  const text = cancelledText(parts) ?? shortProgressOf(job)
  const lines = [paragraph('', `Job ${job.id}: ${stateWord(job)}; ${text}.`)]
  if (job.withdrawing === true)
    lines.push(paragraph('  → ', `${commandText('job show', job.id)} shows how many were withdrawn.`))
  return [...lines, ...unfinishedLines(job)].join('\n')
}

/** The dry run of a replay. */
function humanCount(counts: JsonObject): string {
  const { events, redelivered, more } = counts
  if (typeof events !== 'number') return 'No job was started.'
  const isAny = Number(redelivered) > 0 || more === true
  const text = replayCountText(counts)
  return isAny ? paragraph('', `${text} To deliver them, leave out --dry-run.`) : text
}

/** What a replay would do, by its dry run. */
export function replayCountText(counts: JsonObject): string {
  const { events, redelivered, more } = counts
  if (events === 0) return 'Nothing is retained of that time: no event would be delivered again.'
  const [first, last] = [secondOf(counts.firstAt), secondOf(counts.lastAt)]
  const times = first === last ? `at ${first}` : `from ${first} to ${last}`
  const others = othersOf(counts)
  if (redelivered === 0 && more !== true)
    return `${counted(events, 'event')}, ${times}. None would be delivered again.${others}`
  const atLeast = more === true ? 'At least ' : ''
  const again = `${atLeast}${counted(Number(redelivered), 'event')} would be delivered again`
  return `${again}, of ${events} ${times}.${others}`
}

/** Which events of the range would not be delivered again, and which were delivered before. */
function othersOf(counts: JsonObject): string {
  const { redelivered, more, queuedMore } = counts
  const names = ['unread', 'filtered', 'queued', 'delivered', 'older']
  const [anyway, outside, queued, delivered, older] = names.map((name) => Number(counts[name] ?? 0))
  // An older daemon does not know when the push began.
  const unless = counts.older === undefined ? ', unless older than the push' : ''
  const examined = Number(redelivered) + Number(anyway) + Number(outside) + Number(queued)
  const atLeast = queuedMore === true ? 'At least ' : ''
  return [
    outside && ` ${counted(outside, 'event does', 'events do')} not match its filter.`,
    more === true && ` Only the oldest ${examined} were compared with the filter.`,
    anyway && ` ${counted(anyway, 'event')} not read yet: delivered anyway.`,
    older && ` ${counted(older, 'event is', 'events are')} older than the push: never sent yet.`,
    delivered && ` ${counted(delivered, 'event was', 'events were')} delivered before${unless}: sent again.`,
    queued &&
      ` ${atLeast}${counted(queued, 'event waits', 'events wait')} for an attempt already: delivered once.`,
  ]
    .filter(Boolean)
    .join('')
}

function humanBegun(job: JsonObject): string {
  const { id, kind, state } = job
  const progress = shortProgressOf(job)
  const shown = shortJobId(id)
  if (state === 'done') {
    const result = `Job ${shown}: ${kind === 'replay' ? '' : 'done, '}${resultOf(job) || progress}.`
    if (kind !== 'replay' || Number(pathGet(job.result ?? null, 'events') ?? 0) === 0) return result
    return [paragraph('', result), ...followSteps(job)].join('\n')
  }
  if (state !== 'running') return `Job ${shown}: ${stateOf(job)}, ${progress}.`
  return [paragraph('', `Job ${shown} runs: ${progress}.`), ...followSteps(job)].join('\n')
}

/** How to wait for a job that was started, and how to end it. */
function followSteps({ id, kind, target }: JsonObject): string[] {
  const shown = shortJobId(id)
  const isPush = kind === 'replay' && pathGet(target, 'subscription') !== undefined
  const what = isPush
    ? 'waits until they are delivered'
    : kind === 'replay'
      ? 'waits until they are read'
      : 'waits for its result'
  return [
    paragraph('  → ', `${commandText('job show', shown, '--follow')} ${what}.`),
    paragraph('  → ', `${commandText('job cancel', shown)} ends it.`),
  ]
}

function stateOf(job: JsonObject): string {
  const reason = pathGet(job.error ?? null, 'message')
  const shown = job.state === 'failed' ? paint('red', 'failed') : stateWord(job)
  return reason === undefined ? shown : `${shown}: ${reason}`
}
