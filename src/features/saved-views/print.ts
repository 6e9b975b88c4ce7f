import { shownAuthor } from '../../core/author.ts'
import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import type { Printers } from '../../core/readable.ts'
import { commandText } from '../../lib/command-text.ts'
import { type Column, lineTable } from '../../lib/line-table.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { type Printable, withNotes } from '../../lib/printed.ts'
import { listAge } from '../../lib/short-text.ts'

export const printers: Printers = {
  'view-list': humanViews,
  'view-save': (view) => `Saved for everybody: ${pathGet(view, 'name')}.`,
  'view-delete': (view) => `Deleted for everybody: ${pathGet(view, 'name')}.`,
}

const COLUMNS: readonly Column[] = [
  { title: 'list' },
  { title: 'name' },
  { title: 'filters', least: 20, wraps: true },
  { title: 'by', leftOut: 1 },
  { title: 'age', piped: 'at', leftOut: 2 },
]

function humanViews(result: Json): Printable {
  const views = objectsIn(pathGet(result, 'views'))
  if (views.length === 0) return 'There are no saved views. *Save view* in the console makes one.'
  const rows = views.map((view) => [
    String(view.list),
    String(view.name),
    filtersOf(view),
    shownAuthor(view.by),
    listAge(view.at),
  ])
  const ofMessages = views.find(({ list }) => list === 'messages')
  const use = ofMessages && `Its messages: ${commandText('message list --view', ofMessages.name)}`
  return withNotes(lineTable(COLUMNS, rows), ...(use === undefined ? [] : [paragraph('', use)]))
}

/** `status:dead, since 1h`: the search words as they are, and the other filters with their names. */
function filtersOf({ query }: JsonObject): string {
  const filters = Object.entries(Object(query))
  return filters.map(([name, value]) => (name === 'search' ? value : `${name} ${value}`)).join(', ')
}
