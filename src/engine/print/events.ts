import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import type { Printers } from '../../core/readable.ts'
import { counted } from '../../lib/counted.ts'
import { type Column, lineTable } from '../../lib/line-table.ts'
import { paint } from '../../lib/paint.ts'
import { age, shorten, shortId } from '../../lib/short-text.ts'
import { tableOr } from '../../lib/text-table.ts'
import { humanStartedJob } from './jobs.ts'
import { pushState } from './push-state.ts'

export const printers: Printers = {
  'event-list': humanEvents,
  'event-groups': (result) => humanGroups(objectsIn(result)),
  'event-replay': humanStartedJob,
  'event-seek': humanSeek,
}

/** Maximum characters of the data in a list. */
const LONGEST_DATA = 100

const EVENT_COLUMNS: readonly Column[] = [
  ...['id', 'age', 'type', 'source'].map((title) => ({ title })),
  { title: 'data', least: 16 },
]

/** `event-list`. */
function humanEvents(found: Json): string {
  const rows = objectsIn(pathGet(found, 'events')).map(({ id, timestamp, type, source, data }) => [
    ...[shortId(id), age(timestamp), type, source],
    shorten(JSON.stringify(data), LONGEST_DATA),
  ])
  const next = pathGet(found, 'next')
  if (rows.length === 0) return 'No events are retained.'
  const list = lineTable(EVENT_COLUMNS, rows)
  return next === undefined ? list : `${list}\nOlder ones: --before ${next}`
}

/** `event-seek`. */
function humanSeek(result: Json): string {
  const { dryRun, redelivered, skipped, more } = Object(result)
  if (!dryRun) return 'The group was moved.'
  const isSkip = Number(skipped) > 0
  const many = counted(Number(isSkip ? skipped : redelivered), 'event')
  return `${more ? 'At least ' : ''}${many} would be ${isSkip ? 'skipped' : 'delivered again'}. Without --dry-run, the group is moved.`
}

/** `event-groups`. */
function humanGroups(groups: readonly JsonObject[]): string {
  return tableOr(
    'No consumer group reads events.',
    ['topic', 'group', 'state', 'behind', 'for', 'being read', 'a minute', 'readers'],
    groups,
    ({ topic, group, state, lag, oldestAt, pending, perMinute, skill, readers, lastRead, push }) => [
      topic,
      group,
      push === undefined ? groupState(String(state)) : pushState(Object(push)),
      lag,
      oldestAt === undefined ? '' : age(oldestAt),
      push === undefined ? pending : Object(push).queued,
      perMinute,
      [
        ...(push === undefined ? [] : [`push to ${Object(push).url}`]),
        ...(skill === undefined ? [] : [`skill ${Object(skill).name}`]),
        ...objectsIn(readers).map(({ name, lastAt }) => `${name} ${age(lastAt)} ago`),
        ...(lastRead === undefined ? [] : [lastReader(Object(lastRead))]),
      ].join(', '),
    ],
  )
}

/** Who read before this daemon started. */
function lastReader({ by, at }: JsonObject): string {
  return `none; last ${by} ${age(at)} ago`
}

function groupState(state: string): string {
  return state === 'stalled' ? paint('yellow', state) : state
}
