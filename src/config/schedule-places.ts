import { LineCounter, parseDocument } from 'yaml'
import { attempt } from '../lib/attempt.ts'
import { defined } from '../lib/defined.ts'
import type { Config } from './load-config.ts'
import { lineOf, type PlaceInFile } from './place-in-file.ts'

type AsRead = Config['asRead']

/** The places of all schedules by name; computed once per configuration. */
const known = new WeakMap<AsRead, Map<string, PlaceInFile>>()

/** Where a schedule is configured; undefined if the files have none of that name. */
export function schedulePlace(asRead: AsRead, name: string): PlaceInFile | undefined {
  let places = known.get(asRead)
  if (!places) {
    places = new Map(asRead.files.flatMap(placesIn))
    known.set(asRead, places)
  }
  return places.get(name)
}

function placesIn({ file, yaml }: AsRead['files'][number]): [string, PlaceInFile][] {
  const lines = new LineCounter()
  const document = parseDocument(yaml, { lineCounter: lines })
  const list: unknown = Object(attempt(() => document.toJS())).schedules
  if (!Array.isArray(list)) return []
  return list.map((each, index) => [
    String(Object(each).name),
    { file, ...defined({ line: lineOf(document, ['schedules', index], lines) }) },
  ])
}
