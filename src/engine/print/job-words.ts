import { MESSAGE_TOPIC } from '../../core/event.ts'
import { isJsonObject, type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { timeOf } from '../../core/readable.ts'
import { BEGINNING, isBeginning } from '../../lib/beginning.ts'
import { cancelledText } from '../../lib/cancelled-job.ts'
import { copiesAt, outsideText } from '../../lib/copies-at.ts'
import { counted } from '../../lib/counted.ts'
import { countedBefore } from '../../lib/counted-before.ts'
import { defined } from '../../lib/defined.ts'
import { laterWord, sinceWord } from '../../lib/later-word.ts'
import { lettersInShort, lettersInWords } from '../../lib/letters-in-words.ts'
import { openFailures } from '../../lib/open-failures.ts'
import { isInProgress } from '../../lib/outcomes.ts'
import { paceText } from '../../lib/pace-text.ts'
import { paint } from '../../lib/paint.ts'
import { isGroupReplay, readsText } from '../../lib/replay-reads.ts'
import { replayedText } from '../../lib/replayed-text.ts'
import { retriedWord } from '../../lib/retried-words.ts'
import { age, isTerminal } from '../../lib/short-text.ts'
import { isNothingErased, isSearchingAgain, withdrawnText } from '../../lib/unfinished-job.ts'
import { erasedOpen } from './erased-counts.ts'
import { shortError } from './letter-causes.ts'

/** What jobs count, by kind. */
const UNITS: Readonly<Record<string, string>> = {
  replay: 'event',
  'dead-letters': 'dead letter',
  'person-erase': 'place',
}

/**
 * A long job in words: `replay gateway-message to analytics, 2026-11-28 14:00 UTC to 15:00 UTC`.
 */
export function aboutJob({ kind, target }: JsonObject): string {
  const { topic, group, subscription, do: verb, ...others }: JsonObject = Object(target)
  if (kind === 'replay') {
    const receiver = subscription === undefined ? group : `push ${subscription}`
    return [`replay ${topic} to ${receiver}`, eventsOf(others)].filter(Boolean).join(', ')
  }
  if (kind === 'dead-letters') {
    const why = causeIn(Object(target))
    const letters = lettersInWords(Object(target))
    return `${verb} ${letters}${why === undefined ? '' : `: ${why}`}`
  }
  if (kind === 'person-erase') return erasedBy(Object(target))
  return [kind, ...Object.values(Object(target))].join(' ')
}

function erasedBy({ messages, reference }: JsonObject): string {
  const whose = messages === undefined ? 'a person' : counted(Number(messages), 'message')
  return `erase the data about ${whose}${reference === undefined ? '' : ` for ${reference}`}`
}

/** Filters by the cause of dead letters. The name of a job shows the first that is set. */
const CAUSES = ['pattern', 'error', 'text', 'code']

/** The error or code that narrows a job of dead letters. */
function causeIn(target: JsonObject): string | undefined {
  const name = CAUSES.find((each) => target[each] !== undefined)
  return name === undefined ? undefined : shortError(String(target[name]))
}

/** How `job-show` names filters: like their flags. */
const FILTERS: Readonly<Record<string, string>> = { text: 'error', search: 'words' }
/** The filters shown in the name of a job of dead letters. */
const IN_NAME = new Set(['do', 'queue', 'group', 'message', 'job', 'letters'])

/** The filters of a job of dead letters that `aboutJob` does not show; empty if there are none. */
export function filterOfJob({ kind, target }: JsonObject): string {
  if (kind !== 'dead-letters') return ''
  const filter: JsonObject = Object(target)
  const named = CAUSES.find((each) => filter[each] !== undefined)
  return Object.entries(filter)
    .filter(([key]) => !IN_NAME.has(key) && key !== named)
    .map(([key, value]) => `${FILTERS[key] ?? key} ${shownTime(value)}`)
    .join(', ')
}

/**
 * A long job for a list, whose columns are narrow: what tells it from others comes first, as in
 * `orders: retry SKU … is not in the catalogue`, `→ crm-sync: replay from …`, `GDPR-46: erase a person`.
 */
export function shortAboutJob(job: JsonObject): string {
  const { topic, group, subscription, do: verb, ...others }: JsonObject = Object(job.target)
  if (job.kind === 'replay') {
    const name = topic === MESSAGE_TOPIC ? '' : ` ${topic}`
    const [receiver, events] = [`→ ${subscription ?? group}`, eventsOf(others)]
    // The arrow says it in a narrow list.
    if (isTerminal() && events !== '') return `${receiver}${name} ${events}`
    return [`${receiver}: replay${name}`, events].filter(Boolean).join(' ')
  }
  if (job.kind === 'person-erase') {
    const { messages, reference }: JsonObject = Object(job.target)
    const whose = messages === undefined ? 'a person' : counted(Number(messages), 'message')
    return `${reference === undefined ? '' : `${reference}: `}erase ${whose}`
  }
  if (job.kind !== 'dead-letters') return aboutJob(job)
  const why = causeIn(Object(job.target))
  const name = lettersInShort(Object(job.target))
  return `${verb} ${why === undefined ? name : `${name}: ${why}`}`
}

/**
 * `running`, `done` …; `delivering` or `retrying` while what a done job queued is in progress, and
 * `with failures` if something of it failed permanently. In a pipe, it is the word of the filter.
 * `cancelling` while what a cancelled job queued is withdrawn.
 */
export function stateWord({ kind, state, outcomes, withdrawing, later }: JsonObject): string {
  if (withdrawing === true) return 'cancelling'
  if (state !== 'done') return String(state)
  if (isInProgress(Object(outcomes))) return kind === 'replay' ? 'delivering' : 'retrying'
  if (openFailures({ outcomes: Object(outcomes), later }) === 0) return 'done'
  return isTerminal() ? 'with failures' : 'with-failures'
}

/** The end of the id of a job at a terminal, which commands take; the whole id in a pipe. */
export function shortJobId(id: unknown): string {
  return process.stdout.isTTY ? String(id).slice(-8) : String(id)
}

/** `24 of 477 events`. */
function progressOf(job: JsonObject): string {
  const { kind, state, done, total } = job
  const numbers = { kind: String(kind), state: String(state), done: Number(done), total: Number(total) }
  const all = isSearchingAgain(numbers) ? `all ${wholeOf(job)} searched once` : `${done} of ${wholeOf(job)}`
  return [all, job.at].filter(Boolean).join(', ')
}

/** `24 of 477 events`; `477 events` if all are done. */
export function shortProgressOf(job: JsonObject): string {
  return job.state === 'done' && job.done === job.total ? wholeOf(job) : progressOf(job)
}

function wholeOf({ kind, total }: JsonObject): string {
  const unit = UNITS[String(kind)]
  return unit === undefined ? String(total) : counted(Number(total), unit)
}

/** What an ended job did; empty if that is not known. */
export function resultOf({ kind, target, result, outcomes, later }: JsonObject): string {
  const { records, count }: JsonObject = Object(result)
  if (kind === 'replay') {
    const isPush = pathGet(target, 'subscription') !== undefined
    const replayed = replayedText(isJsonObject(result) ? result : undefined, { isPush })
    const delivered = outcomes === undefined ? '' : outcomesText(Object(outcomes), { isToGroup: !isPush })
    return replayed === undefined ? '' : [delivered, replayed].filter(Boolean).join('; ')
  }
  if (records !== undefined)
    return [`${counted(Number(records), 'record')} erased`, withdrawnText(Object(result))]
      .filter(Boolean)
      .join('; ')
  if (count === undefined) return ''
  const verb = pathGet(target, 'do') === 'drop' ? 'dropped' : 'retried'
  return [`${counted(Number(count), 'dead letter')} ${verb}`, retriedText(outcomes, later)]
    .filter(Boolean)
    .join(': ')
}

/**
 * What an ended job did, for a list: first what needs attention, `10 dead, 2 waiting, 14
 * delivered`.
 */
export function shortResultOf(job: JsonObject): string {
  if (job.outcomes === undefined) return withoutLeftOut(resultOf(job))
  if (job.kind === 'dead-letters') return retriedText(job.outcomes, job.later) + causesText(job)
  const [wait] = objectsIn(job.waitsFor ?? null)
  const why = wait === undefined ? '' : wait.kind === 'receiver' ? ' (receiver fails)' : ' (paused)'
  return (
    outcomesText(Object(job.outcomes), { why, isToGroup: isGroupReplay(job) }) ||
    withoutLeftOut(resultOf(job))
  )
}

/** Why messages of a retry failed, unless its name says it. */
function causesText({ causes, target }: JsonObject): string {
  const known = pathGet(target, 'pattern')
  const texts = objectsIn(causes ?? null)
    .filter(({ pattern }) => pattern !== known)
    .map(({ error }) => shortError(String(error)))
  return texts.length === 0 ? '' : ` (${texts.join('; ')})`
}

/** Leaves out the events that a replay skipped, which take much room. A pipe shows them. */
function withoutLeftOut(text: string): string {
  return process.stdout.isTTY ? text.replace(/; left out: .*/, '') : text
}

/** `1 failed again, 7 waiting, 22 done`; empty if the outcomes are not known. */
function retriedText(outcomes: Json | undefined, later: Json | undefined): string {
  const { dead, withdrawn, ...others }: JsonObject = Object(outcomes)
  const all = Object.entries({ ...others, ...defined({ withdrawn }) })
  const parts = all.flatMap(([outcome, count]) =>
    Number(count) > 0 ? [`${count} ${retriedWord(outcome, Number(count))}`] : [],
  )
  if (Number(dead ?? 0) === 0) return parts.join(', ')
  const again = `${dead} ${retriedWord('dead')}`
  const isOpen = openFailures({ outcomes: Object(outcomes), later }) > 0
  return [isOpen ? paint('red', again) : again, ...parts].join(', ')
}

/**
 * What was done since with the messages of a retry that failed again: `4 retried again in job
 * 2f8e0c11, 2 dropped since`; empty if nothing.
 */
export function laterText({ later }: JsonObject): string {
  return objectsIn(later ?? null)
    .map((each) => `${each.count} ${laterVerb(each)}`)
    .join(', ')
}

/** `retried again in job 2f8e0c11`, `dropped since`, or for withdrawn events `delivered in job 2f8e0c11`. */
export function laterVerb(later: JsonObject): string {
  return sinceWord({ word: laterWord(later), job: later.job })
}

/** `waits for skill enrich (paused)`, `waits for a reader of audit`; empty if it waits for nothing. */
export function waitSummary({ kind, waitsFor }: JsonObject): string {
  const [wait] = objectsIn(waitsFor ?? null)
  if (wait?.kind === 'reader') return `waits for a reader of ${wait.name}`
  if (kind === 'replay') return ''
  return wait === undefined ? '' : `waits for ${wait.kind} ${wait.name} (paused)`
}

/** `2 dead, 10 waiting, 14 delivered`: first what needs attention, and nothing that is 0. */
function outcomesText(
  outcomes: JsonObject,
  { why = '', isToGroup }: { why?: string; isToGroup: boolean },
): string {
  const { delivered, waiting, dead, removed } = outcomes
  const cancelled = cancelledText({ outcomes })
  if (cancelled !== undefined) return cancelled
  const reads = readsText(outcomes, isToGroup)
  if (reads !== undefined) return reads
  const parts = [
    Number(dead) > 0 && paint('red', `${dead} dead`),
    Number(waiting) > 0 && `${waiting} waiting${why}`,
    Number(delivered) > 0 && `${delivered} delivered`,
    Number(removed) > 0 && `${removed} removed since`,
  ].filter(Boolean)
  return parts.length === 0 ? '' : parts.join(', ')
}

/**
 * What an erasure ended that was open, and what remains to be done: other data directories, old
 * copies, and the content before a restore.
 */
export function afterErasure(result: Json): string[] {
  // Nothing was erased, so copies elsewhere need not be erased, either.
  if (isNothingErased(result)) return []
  return [
    ...[countedBefore(Object(result)) ?? []].flat(),
    ...erasedOpen(Object(result)),
    ...copiesAt(pathGet(result, 'receivers')),
    ...(pathGet(result, 'records') === undefined ? [] : [outsideText(pathGet(result, 'outside'))]),
    ...laterLines(result),
    ...compactLines(result),
    ...oldContentLines(result),
  ]
}

/** Lines about data directories that are erased when their daemons run again. */
function laterLines(result: Json): string[] {
  return objectsIn(pathGet(result, 'later')).map(
    ({ host, lastSeen }) =>
      `The data directory on ${host} is erased when its daemon runs again (last seen ${age(lastSeen)} ago).`,
  )
}

/** Lines about a store whose file was not rewritten. */
function compactLines(result: Json): string[] {
  if (pathGet(result, 'needsCompact') !== true) return []
  return [
    'trivium.db was not rewritten, and may still contain old copies of erased rows.',
    'To remove them, stop the daemon and run `trivium compact`.',
  ]
}

/** Lines about the content before a restore, in which nothing is counted or erased. */
export function oldContentLines(result: Json): string[] {
  const folders = pathGet(result, 'beforeRestore')
  if (!Array.isArray(folders)) return []
  return [
    '',
    'The content before a restore is neither counted nor erased. If you do not need it, delete it:',
    ...folders.map((folder) => `  rm -r <data dir>/${folder}`),
  ]
}

/** `7.7 a second, about 2 min left` of a replay that its push delivers; empty if it is not known. */
export function paceOf({ speed, rate, outcomes }: JsonObject): string {
  const limit = typeof rate === 'number' ? rate : undefined
  return typeof speed === 'number' ? paceText(speed, Number(Object(outcomes).waiting ?? 0), limit) : ''
}

/** The events of a replay: a range, or those withdrawn with another replay. */
function eventsOf({ withdrawn, ...range }: JsonObject): string {
  return withdrawn === undefined ? rangeOf(range) : `withdrawn events of job ${shortJobId(withdrawn)}`
}

function rangeOf({ since, until, from, to }: JsonObject): string {
  const [first, last] = [since ?? from, until ?? to].map((end) => (end === undefined ? '' : shownTime(end)))
  if (first && last) return first === BEGINNING ? `from ${first} to ${last}` : `${first} to ${last}`
  if (first) return `from ${first}`
  return last ? `to ${last}` : ''
}

/** A time of ISO 8601 in words; other values unchanged. */
function shownTime(value: Json): string {
  if (isBeginning(value)) return BEGINNING
  const isTime = typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)
  return isTime ? timeOf(Date.parse(value)) : String(value)
}
