import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { type Printers, secondOf } from '../../core/readable.ts'
import { commandText, shellWord } from '../../lib/command-text.ts'
import { counted } from '../../lib/counted.ts'
import { commandAgain } from '../../lib/flag-words.ts'
import { type Column, lineTable } from '../../lib/line-table.ts'
import { noData, type Printable, withNotes } from '../../lib/printed.ts'
import { listAge, listCount, listText, shortId } from '../../lib/short-text.ts'
import { skippedRange } from '../../lib/skipped-range.ts'
import { groupState, readersOf, waitingSinceOf } from './group.ts'
import { humanStartedJob } from './jobs.ts'
import { missingShards } from './missing-shards.ts'

export const printers: Printers = {
  'event-list': humanEvents,
  'event-groups': (result) => humanGroups(objectsIn(result)),
  'event-replay': humanStartedJob,
  'event-seek': humanSeek,
  'event-skip': humanSkip,
  'event-unread': humanUnread,
}

/** Maximum characters of the data in a list. */
const LONGEST_DATA = 100

const EVENT_COLUMNS: readonly Column[] = [
  { title: 'id' },
  { title: 'age', piped: 'time' },
  ...['type', 'source'].map((title) => ({ title })),
  { title: 'data', least: 16 },
]

/** `event-list`. */
function humanEvents(found: Json, args: JsonObject = {}): Printable {
  const rows = objectsIn(pathGet(found, 'events')).map(({ id, timestamp, type, source, data }) => [
    shortId(id),
    listAge(timestamp),
    type,
    source,
    listText(JSON.stringify(data), LONGEST_DATA),
  ])
  const next = pathGet(found, 'next')
  const list = rows.length === 0 ? noData('No events are retained.') : lineTable(EVENT_COLUMNS, rows)
  const older =
    next === undefined || rows.length === 0
      ? []
      : [`Older ones: ${commandAgain('event list', args, { before: shortId(next) })}`]
  return withNotes(list, ...older, ...missingShards(found))
}

/** `event-seek`. */
function humanSeek(result: Json, args: JsonObject = {}): string {
  if (args.to === 'now') return humanSkip(result, args)
  const { dryRun, redelivered, more } = Object(result)
  if (!dryRun) return 'The group was moved.'
  const many = `${more ? 'At least ' : ''}${counted(Number(redelivered), 'event')}`
  return `${many} would be delivered again. Without --dry-run, the group is moved.`
}

/** `event-skip`, with the command that delivers the skipped events again. */
function humanSkip(result: Json, { queue, topic }: JsonObject = {}): string {
  const found = Object(result)
  const { dryRun, skipped = 0, more } = found
  if (Number(skipped) === 0) return `There ${dryRun ? 'is' : 'was'} nothing to skip.`
  const many = `${more ? 'At least ' : ''}${counted(Number(skipped), 'event')}`
  if (dryRun) return `${many} would be skipped${skippedTimes(found)}. Without --dry-run, they are skipped.`
  const range = skippedRange({ ...found, at: Date.now() })
  const ends = range ? [isoOf(range.since), '--until', isoOf(range.until)] : ['TIME']
  const again = commandText('group replay', queue, topic, '--since', ...ends)
  return `${many} ${skipped === 1 ? 'was' : 'were'} skipped.\n  → ${again} delivers ${skipped === 1 ? 'it' : 'them'} again.`
}

function isoOf(time: number): string {
  return new Date(time).toISOString()
}

/** `, published from 2026-11-30 00:25:19 UTC to 2026-11-30 08:40:01 UTC`. */
export function skippedTimes({ firstAt, lastAt }: JsonObject): string {
  if (typeof firstAt !== 'number' || typeof lastAt !== 'number') return ''
  return `, published from ${secondOf(firstAt)} to ${secondOf(lastAt)}`
}

const UNREAD_COLUMNS: readonly Column[] = [
  { title: 'event' },
  { title: 'published (UTC)' },
  { title: 'for', piped: 'since' },
  { title: 'about', least: 24 },
  { title: 'replay', leftOut: 1 },
]

/** `event-unread`, with the command for the next page. */
function humanUnread(found: Json, args: JsonObject = {}): Printable {
  const { queue, topic, ...asked } = args
  const { after } = asked
  const events = objectsIn(pathGet(found, 'events'))
  const next = pathGet(found, 'next')
  const more =
    next === undefined
      ? []
      : [
          `Later ones: ${commandAgain(`group unread ${shellWord(queue)} ${shellWord(topic)}`, asked, { after: next })}`,
        ]
  if (events.length === 0 && after === undefined && next === undefined)
    return noData(`${queue} has read everything of ${topic}.`)
  const rows = events.map(({ id, publishedAt, since, text, again }) => [
    shortId(id),
    secondOf(publishedAt).slice(0, 19),
    listAge(since),
    text,
    again === true ? 'delivered again' : '',
  ])
  return withNotes(lineTable(UNREAD_COLUMNS, rows), ...more)
}

/** `event-groups`. */
function humanGroups(groups: readonly JsonObject[]): Printable {
  if (groups.length === 0) return noData('No consumer group reads events.')
  const rows = groups.map((group) => [
    group.topic,
    group.group,
    groupState(group),
    formatted(group.behind),
    waitOf(group),
    // A push reads events as long as they wait for an attempt, which counts as behind.
    group.push === undefined ? formatted(Number(group.pending) - Number(group.again)) : '',
    group.perMinute,
    readersOf(group).join(', '),
  ])
  return lineTable(GROUP_COLUMNS, rows)
}

function waitOf(group: JsonObject) {
  const since = waitingSinceOf(group)
  return since === undefined ? '' : listAge(since)
}

function formatted(count: unknown): string {
  return listCount(count)
}

const GROUP_COLUMNS: readonly Column[] = [
  { title: 'topic', least: 15 },
  { title: 'group' },
  { title: 'state', least: 14 },
  { title: 'behind' },
  { title: 'for', piped: 'since' },
  { title: 'being read', leftOut: 4 },
  { title: 'a minute', leftOut: 3 },
  { title: 'readers', least: 14, leftOut: 1 },
]
