import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import type { Printers } from '../../core/readable.ts'
import { counted } from '../../lib/counted.ts'
import { paint } from '../../lib/paint.ts'
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

/** `failing for 12 min`, `paused by ada`, `fails 20 of 50`, `retrying for 3 s`: a push that is active, but whose last attempts failed, is retrying. */
function pushState({ state, detail, failingSince, errors }: JsonObject): string {
  const since = failingSince === undefined ? '' : ` for ${age(failingSince)}`
  if (state === 'failing') return paint('red', `failing${since}`)
  const failed = pathGet(errors, 'failed')
  if (state === 'active' && failed !== undefined)
    return paint('yellow', `fails ${failed} of ${pathGet(errors, 'of')}`)
  if (state === 'active') return failingSince === undefined ? 'active' : paint('yellow', `retrying${since}`)
  return paint('yellow', [state, detail].filter(Boolean).join(' '))
}
