import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import type { Printers } from '../../core/readable.ts'
import { counted } from '../../lib/counted.ts'
import { age, shorten, shortId } from '../../lib/short-text.ts'
import { listTable, tableOr } from '../../lib/text-table.ts'
import { humanStartedJob } from './jobs.ts'

export const printers: Printers = {
  'event-list': humanEvents,
  'event-groups': (result) => humanGroups(objectsIn(result)),
  'event-replay': humanStartedJob,
  'event-seek': humanSeek,
}

/** Maximum characters of the data in a list. */
const LONGEST_DATA = 100

/** `event-list`. */
function humanEvents(found: Json): string {
  const rows = objectsIn(pathGet(found, 'events')).map(({ id, timestamp, type, source, data }) => [
    ...[shortId(id), age(timestamp), type, source],
    shorten(JSON.stringify(data), LONGEST_DATA),
  ])
  const next = pathGet(found, 'next')
  if (rows.length === 0) return 'No events are retained.'
  const list = listTable(['id', 'age', 'type', 'source', 'data'], rows)
  return next === undefined ? list : `${list}\nOlder ones: --before ${next}`
}

/** `event-seek`. */
function humanSeek(result: Json): string {
  const { dryRun, redelivered, skipped } = Object(result)
  if (!dryRun) return 'The group was moved.'
  const isSkip = Number(skipped) > 0
  const many = counted(Number(isSkip ? skipped : redelivered), 'event')
  return `${many} would be ${isSkip ? 'skipped' : 'delivered again'}. Without --dry-run, the group is moved.`
}

/** `event-groups`. */
function humanGroups(groups: readonly JsonObject[]): string {
  return tableOr(
    'No consumer group reads events.',
    ['topic', 'group', 'behind', 'for', 'being read', 'a minute', 'readers'],
    groups,
    ({ topic, group, lag, oldestAt, pending, perMinute, skill, readers }) => [
      topic,
      group,
      lag,
      oldestAt === undefined ? '' : age(oldestAt),
      pending,
      perMinute,
      [
        ...(skill === undefined ? [] : [`skill ${Object(skill).name}`]),
        ...objectsIn(readers).map(({ name, lastAt }) => `${name} ${age(lastAt)} ago`),
      ].join(', '),
    ],
  )
}
