import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { counted } from '../../lib/counted.ts'
import { type Column, lineTable } from '../../lib/line-table.ts'
import { wordOf } from '../../lib/open-groups.ts'
import { noData, type Printable, withNotes } from '../../lib/printed.ts'
import { isTerminal, listAge } from '../../lib/short-text.ts'

const COLUMNS: readonly Column[] = [
  { title: 'identity', least: 16 },
  { title: 'open' },
  { title: 'for', piped: 'since' },
  { title: 'gateway', leftOut: 2 },
  { title: 'what', least: 16, share: 0.3 },
  { title: 'error', least: 16, leftOut: 1 },
]

const OLDER = 'Only the newest messages and conversations were searched: older ones may be open, too.'

/** `person-open`: a line for each thing. */
export function humanOpen(result: Json): Printable {
  const people = objectsIn(pathGet(result, 'people'))
  const notes = pathGet(result, 'more') === true ? [OLDER] : []
  if (people.length === 0) return noData('Nothing is open.', ...notes)
  const rows = people.flatMap(({ identity, open = [] }) =>
    objectsIn(open).map((thing, at) => [
      // An address alone means every gateway. At a terminal, a person is named once.
      at > 0 && isTerminal() ? '' : String(identity).replace(/^\*:/, ''),
      wordOf({
        ...thing,
        kind: String(thing.kind),
        state: String(thing.state),
        failed: thing.failed === true,
        at: Number(thing.at),
      }),
      listAge(thing.at),
      thing.gateway ?? '',
      whatOf(thing),
      thing.error ?? pathGet(thing, 'undelivered.error') ?? '',
    ]),
  )
  const sum = `${counted(rows.length, 'open thing')} with ${counted(people.length, 'person', 'people')}.`
  return withNotes(lineTable(COLUMNS, rows), sum, ...notes)
}

function whatOf({ kind, title, subject, summary, text, id }: JsonObject): string {
  if (kind === 'push') return `push to ${title}`
  return String(title ?? subject ?? summary ?? text ?? id).replace(/\s+/g, ' ')
}
