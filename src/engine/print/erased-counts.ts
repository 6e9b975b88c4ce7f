import { type JsonObject, pathGet } from '../../core/json.ts'
import { meaningOfKind } from '../../lib/erased-places.ts'
import { countedOpen, openCounts } from '../../lib/open-kinds.ts'
import { table } from '../../lib/text-table.ts'

/** The places, each with its kinds of records: in the same row if there is only one. */
export function countTable({ counts, kinds }: JsonObject): string {
  const rows = Object.entries(Object(counts)).flatMap(([place, count]) => {
    if (count === 0) return []
    const ofPlace = Object.entries(Object(pathGet(kinds, [place])))
    if (ofPlace.length === 1) return [[`${place}: ${namedKind(String(ofPlace[0]?.[0]))}`, count]]
    return [[place, count], ...ofPlace.map(([kind, many]) => [`- ${namedKind(kind)}`, many])]
  })
  return rows.length === 0 ? 'No records.' : table(['place', 'records'], rows)
}

/** `long jobs (of operators; only the name is removed)`. */
function namedKind(kind: string): string {
  const meaning = meaningOfKind(kind)
  return meaning === undefined ? kind : `${kind} (${meaning})`
}

/** A line with the counts of open things that an erasure removed; empty without any. */
export function erasedOpen({ open }: JsonObject): string[] {
  const all = openCounts(Object(open)).map(({ kind, count }) => countedOpen(kind, count))
  return all.length === 0 ? [] : [`Open until then, and erased too: ${all.join(', ')}.`]
}
