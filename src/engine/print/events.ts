import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { type Printers, secondOf } from '../../core/readable.ts'
import { commandText } from '../../lib/command-text.ts'
import { counted } from '../../lib/counted.ts'
import { commandAgain } from '../../lib/flag-words.ts'
import { type Column, lineTable } from '../../lib/line-table.ts'
import { noData, type Printable, withNotes } from '../../lib/printed.ts'
import { listAge, listCount, listText, shortId } from '../../lib/short-text.ts'
import { groupState, readersOf, waitingSinceOf } from './group.ts'
import { humanStartedJob } from './jobs.ts'
import { missingShards } from './missing-shards.ts'

export const printers: Printers = {
  'event-list': humanEvents,
  'event-groups': (result) => humanGroups(objectsIn(result)),
  'event-replay': humanStartedJob,
  'event-seek': humanSeek,
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
function humanSeek(result: Json, { queue, topic, to }: JsonObject = {}): string {
  const { dryRun, redelivered, skipped = 0, more } = Object(result)
  const again = commandText('group replay', queue, '--topic', topic, '--since', 'TIME')
  const isSkip = Number(skipped) > 0
  const many = `${more ? 'At least ' : ''}${counted(Number(isSkip ? skipped : redelivered), 'event')}`
  if (!dryRun) {
    if (isSkip) return `${many} were skipped. ${again} delivers them again.`
    return to === 'now' ? 'There was nothing to skip.' : 'The group was moved.'
  }
  return `${many} would be ${isSkip ? `skipped${skippedTimes(Object(result))}` : 'delivered again'}. Without --dry-run, the group is moved.`
}

/** `, published from 2026-11-30 00:25:19 UTC to 2026-11-30 08:40:01 UTC`. */
export function skippedTimes({ firstAt, lastAt }: JsonObject): string {
  if (typeof firstAt !== 'number' || typeof lastAt !== 'number') return ''
  return `, published from ${secondOf(firstAt)} to ${secondOf(lastAt)}`
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
  { title: 'being read', leftOut: 2 },
  { title: 'a minute', leftOut: 1 },
  { title: 'readers', least: 14, leftOut: 3 },
]
