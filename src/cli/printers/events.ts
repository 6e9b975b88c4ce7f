import { type Json, objectsIn, pathGet } from '../../core/json.ts'
import { age, listTable, shorten } from '../terminal.ts'

/** Maximum characters of the data in a list. */
const LONGEST_DATA = 100

/** `event-list`. The ids are whole, because `event show` takes no other. */
export function humanEvents(found: Json): string {
  const rows = objectsIn(pathGet(found, 'events')).map(({ id, timestamp, type, source, data }) => [
    ...[id, age(timestamp), type, source],
    shorten(JSON.stringify(data), LONGEST_DATA),
  ])
  const next = pathGet(found, 'next')
  if (rows.length === 0) return 'No events are retained.'
  const list = listTable(['id', 'age', 'type', 'source', 'data'], rows)
  return next === undefined ? list : `${list}\nOlder ones: --before ${next}`
}
