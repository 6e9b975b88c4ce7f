import { type Json, objectsIn, pathGet } from '../../core/json.ts'
import { timeOf } from '../../core/readable.ts'
import { counted } from '../../lib/counted.ts'
import { type Column, lineTable } from '../../lib/line-table.ts'
import { noData, type Printable, withNotes } from '../../lib/printed.ts'
import { listAge } from '../../lib/short-text.ts'
import { missingShards } from './missing-shards.ts'

const COLUMNS: readonly Column[] = [
  { title: 'identity' },
  { title: 'name', least: 12 },
  { title: 'gateways', least: 12, leftOut: 1 },
  { title: 'messages' },
  { title: 'last', piped: 'time' },
]

/** `person-list`. */
export function humanPeople(result: Json): Printable {
  const people = objectsIn(pathGet(result, 'people'))
  const { total, messages, next, searchedTo } = Object(result)
  const rows = people.map(({ identity, name, gateways, messages: many, newest }) => [
    // An address alone means every gateway.
    String(identity).replace(/^\*:/, ''),
    name ?? '',
    [gateways].flat().join(', '),
    many,
    listAge(pathGet(newest, 'at')),
  ])
  const isCut = typeof next === 'string'
  const from = `${isCut ? 'the newest ' : ''}${counted(Number(messages), 'message')}`
  const back = isCut ? `, back to ${timeOf(searchedTo)}` : ''
  const some = people.length < Number(total) ? `The first ${people.length} of ` : ''
  const counts = `${some}${counted(Number(total), 'person', 'people')} in ${from}${back}.`
  const older = isCut ? [`Older ones: --before ${next}`] : []
  return withNotes(
    rows.length === 0
      ? noData(isCut ? `Nobody in ${from}${back}.` : 'No stored message is from such a person.')
      : lineTable(COLUMNS, rows),
    ...(rows.length === 0 ? [] : [counts]),
    ...older,
    ...missingShards(result),
  )
}
