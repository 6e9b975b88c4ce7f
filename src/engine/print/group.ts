import { shownAuthor } from '../../core/author.ts'
import { type Json, type JsonObject, objectsIn } from '../../core/json.ts'
import { secondOf } from '../../core/readable.ts'
import { ageText } from '../../lib/age-text.ts'
import { commandText } from '../../lib/command-text.ts'
import { counted } from '../../lib/counted.ts'
import { factLines } from '../../lib/fact-lines.ts'
import { matchInWords } from '../../lib/match-words.ts'
import { noReaderText } from '../../lib/no-reader.ts'
import { paint } from '../../lib/paint.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { age, listAgo } from '../../lib/short-text.ts'
import { shortJobId } from './job-words.ts'
import { leftOutText, waitingText } from './push-backlog.ts'
import { pushState } from './push-state.ts'

/** `group show`: the group with the given name in one topic, or in each topic that has one. */
export function humanGroup(result: Json): string {
  return objectsIn(result).map(detailsOf).join('\n\n')
}

/** The state of a group, or of the push that reads as the group. */
export function groupState({ state, push }: JsonObject): string {
  if (push !== undefined) return pushState(Object(push))
  return state === 'stalled' ? paint('yellow', state) : String(state)
}

/** What reads as the group, and when it read last. */
export function readersOf({ push, skill, readers, lastRead }: JsonObject): string[] {
  return [
    ...(push === undefined ? [] : [`push to ${Object(push).url}`]),
    ...(skill === undefined ? [] : [`skill ${Object(skill).name}`]),
    ...objectsIn(readers).map(({ name, lastAt }) => `${name} ${listAgo(lastAt)}`),
    ...(lastRead === undefined ? [] : [lastReader(Object(lastRead))]),
  ]
}

/** Who read before this daemon started. */
function lastReader({ by, at }: JsonObject): string {
  return `none; last ${by} ${listAgo(at)}`
}

function detailsOf(group: JsonObject): string {
  const { topic, push } = group
  const what = push === undefined ? 'consumer group' : 'push subscription'
  return [
    paragraph(
      '',
      `${paint('bold', String(group.group))}  ${what} of the topic ${topic}: ${groupState(group)}`,
    ),
    ...warningOf(group),
    '',
    ...factLines(factsOf(group)),
    '',
    ...nextSteps(group),
  ].join('\n')
}

/** A warning that events wait and nothing reads the group. The daemon itself reads the group of a push. */
function warningOf({ noReader, push }: JsonObject): string[] {
  if (noReader === undefined || push !== undefined) return []
  const { since, by } = Object(noReader)
  const time = since === undefined ? undefined : `${secondOf(since)} (${age(since)})`
  return [paragraph('', paint('yellow', noReaderText({ since: time, by: by && shownAuthor(by) })))]
}

function factsOf(group: JsonObject): [title: string, text: string][] {
  const { topic = '', lag, pending, again, perMinute, waiting, push, maxDeliveries, dead } = group
  const readers = readersOf(group)
  const isRead = push === undefined
  return [
    ['to send', isRead ? '' : waitingText(Object(push))],
    ['left out', isRead ? '' : leftOutText({ topic, ...Object(push) })],
    ['unread', isRead ? counted(Number(lag), 'event') : ''],
    ['to be delivered again', isRead && Number(again) > 0 ? counted(Number(again), 'event') : ''],
    ['longest wait', waitOf(group)],
    // The first unread event of a push may be one that its filter leaves out.
    ['next', isRead ? nextOf(group) : ''],
    ['failing since', failingOf(Object(push))],
    ['being read', isRead ? counted(Number(pending) - Number(again), 'event') : ''],
    ['rate', `${perMinute} a minute were read in the last 5 minutes`],
    ['backlog', backlogOf(objectsIn(group.history))],
    ['skipped', skipText(Object(group.lastSkip))],
    ['readers', group.noReader === undefined ? readers.join(', ') || 'none since the daemon started' : ''],
    ['waiting', isRead ? counted(Number(waiting), 'reader') : ''],
    ['filter', filterOf(group)],
    ['retention', retentionOf(Object(group.retention))],
    ['deliveries', maxDeliveries === undefined ? '' : `at most ${maxDeliveries}, then a dead letter`],
    ['dead letters', String(dead ?? Object(push).dead ?? '')],
  ]
}

/** Since when the event waits that has waited longest: also queued ones of a push. */
export function waitingSinceOf({ waitingSince, push }: JsonObject): number | undefined {
  const { oldestAt } = Object(push)
  const times = [waitingSince, oldestAt].flatMap((time) => (typeof time === 'number' ? [time] : []))
  return times.length === 0 ? undefined : Math.min(...times)
}

/** `8 h, since 2026-11-30 00:25:19 UTC`. */
function waitOf(group: JsonObject): string {
  const since = waitingSinceOf(group)
  return since === undefined ? '' : `${age(since)}, since ${secondOf(since)}`
}

/** The event that is read next: its time, its id, and when retention removes it. */
function nextOf({ oldestAt, oldestId, retention, about }: JsonObject): string {
  if (typeof oldestAt !== 'number') return ''
  const left = oldestAt + Number(Object(retention).maxAge) - Date.now()
  const end = left > 0 ? `removed in ${ageText(left)} if nobody reads it` : 'removed soon'
  const what = about === undefined || about === '' ? '' : ` (${about})`
  return `${secondOf(oldestAt)} (${age(oldestAt)} ago), ${end}: ${oldestId}${what}`
}

/** `531 events by ada on 2026-11-30 08:40:01 UTC (12 min ago), those before 2026-11-30 06:00:00 UTC`. */
function skipText({ at, by, count, more, until, replayed }: JsonObject): string {
  if (at === undefined) return ''
  const many = `${more === true ? 'at least ' : ''}${counted(Number(count), 'event')}`
  const bound = until === undefined ? '' : `, those before ${secondOf(until)}`
  const skipped = `${many} by ${shownAuthor(by)} on ${secondOf(at)} (${age(at)} ago)${bound}`
  if (replayed === undefined) return skipped
  const { at: since, job, isPart } = Object(replayed)
  const what = isPart === true ? 'a part of them was' : 'they were'
  return `${skipped}; ${what} replayed on ${secondOf(since)}: ${commandText('job show', shortJobId(job))}`
}

/** Since when the push of the group fails. */
function failingOf({ failingSince }: JsonObject): string {
  return failingSince === undefined ? '' : `${secondOf(failingSince)} (${age(failingSince)})`
}

/** Ages (ms) of the points of the history to show. */
const STEPS = [24, 6, 1].map((hours) => hours * 3_600_000)

/** `36,318 an hour ago`: how the backlog has changed, as far as this daemon has seen it. */
function backlogOf(history: readonly JsonObject[]): string {
  const points = STEPS.map((step) => history.findLast(({ at }) => Number(at) <= Date.now() - step))
  // Several steps have the same point if nothing was measured between them.
  const found = [...new Set(points)].flatMap((point) =>
    point ? [`${Number(point.lag).toLocaleString('en')} ${age(point.at)} ago`] : [],
  )
  return found.join(', ')
}

function filterOf({ match, push }: JsonObject): string {
  const filter = match ?? Object(push).match
  return filter === undefined ? 'none: all events of the topic' : matchInWords(Object(filter))
}

function retentionOf({ maxAge, maxCount }: JsonObject): string {
  if (maxAge === undefined) return ''
  return `${ageText(Number(maxAge))}, at most ${Number(maxCount).toLocaleString('en')} events, read or not`
}

/** Commands that are useful next. */
function nextSteps({ topic, group, push, oldestId, behind }: JsonObject): string[] {
  const step = (command: string, what: string) => paragraph('  → ', `${command} ${what}`)
  if (push !== undefined) return [step(commandText('subscription show', group), 'has its last attempts.')]
  if (Number(behind) === 0 || oldestId === undefined)
    return [step(commandText('group replay', group, '--topic', topic), 'delivers retained events again.')]
  return [
    topic === 'gateway-message'
      ? step(commandText('message show', oldestId), 'shows the next message.')
      : step(commandText('event show', topic, oldestId), 'shows the next event.'),
    step(
      commandText('event wait', topic, '--queue', group, '--no-ack', '--timeout', 0),
      'reads the next ones, and leaves them for the reader of the group. Start that reader to catch up.',
    ),
    step(commandText('group unread', group, topic), 'lists what it has not read.'),
    step(
      commandText('group skip', group, topic, '--dry-run'),
      'counts what the group would skip; `--until 2h` skips only older events.',
    ),
  ]
}
