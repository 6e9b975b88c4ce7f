import { isDeepStrictEqual } from 'node:util'
import patches from 'fast-json-patch'
import type { TriviumError } from '../../core/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import { fullFiles, lastLine, linesAfter, openIfThere } from '../files/line-file.ts'
import { type Change, corrupt, type Operation, type Snapshot } from './spec.ts'

/** A change as the file back end writes it. `sha`: the fingerprint of the text it leaves. */
export type LoggedChange = Change & { sha?: string }

/** The last change of a document's log, in a full file where the current one has none. Throws `state_corrupt`. */
export async function lastChange(name: string, path: string): Promise<LoggedChange | undefined> {
  for (const file of [path, ...fullFiles(path).reverse()]) {
    const line = await lastLine(file)
    if (line === undefined) continue
    const change = parse(line)
    if (!change) throw corrupt(name, file, 'its end is no event')
    return change
  }
  return undefined
}

/** Every change, oldest first, over the full files too; an error for a gap or a broken line. */
export async function* readChanges(name: string, path: string): AsyncGenerator<Change | TriviumError> {
  let last: number | undefined
  for (const file of [...fullFiles(path), path]) {
    await using handle = await openIfThere(file)
    if (!handle) continue
    for (const [index, line] of (await linesAfter(handle, { offset: 0 })).entries()) {
      const change = parse(line)
      const where = `line ${index + 1}`
      if (!change) yield corrupt(name, file, `${where} is no event`)
      else if (last !== undefined && change.seq !== last + 1)
        yield corrupt(name, file, `${where} is event ${change.seq}, not ${last + 1}`)
      last = change?.seq ?? (last === undefined ? last : last + 1)
      if (change) yield change
    }
  }
}

function parse(line: string): LoggedChange | undefined {
  try {
    const change: LoggedChange = JSON.parse(line)
    return Number.isInteger(change?.seq) && (change.patch || change.document) ? change : undefined
  } catch {
    return undefined
  }
}

/** A moment (Unix ms) or a revision. */
export type Until = number | { revision: number }

export type Telling = { found?: Snapshot | undefined; broken?: unknown }

/** The newest document that events tell of whole, up to a moment, behind what is `broken` too. */
export async function told(
  changes: () => AsyncIterable<Change | Error>,
  until: Until = Number.POSITIVE_INFINITY,
): Promise<Telling> {
  const telling: Telling = {}
  let document: JsonObject | undefined
  for await (const change of changes()) {
    try {
      if (change instanceof Error) throw change
      const { seq, time, document: whole, patch = [] } = change
      if (typeof until === 'number' ? Date.parse(time) > until : seq > until.revision) break
      document = whole ?? (document && patches.applyPatch(document, patch, true).newDocument)
      if (document) telling.found = { document, revision: seq }
    } catch (error) {
      telling.broken ??= error
      document = undefined
      // A patch that does not fit may have been applied by half.
      if (!(change instanceof Error))
        telling.found = (await told(changes, { revision: change.seq - 1 })).found
    }
  }
  return telling
}

/** The steps that turn `before` into `after`, in the order in which they apply. Empty: they are equal. */
export function diff(before: Json, after: Json, path = ''): Operation[] {
  if (before === after) return []
  if (Array.isArray(before) && Array.isArray(after)) return diffArrays(before, after, path)
  // In no path: it is data here, and whoever replays a patch refuses it.
  const isPlain = ![before, after].some((value) => isJsonObject(value) && Object.hasOwn(value, '__proto__'))
  if (!isPlain || !isJsonObject(before) || !isJsonObject(after))
    return [{ op: 'replace', path, value: after }]
  const [old, given] = [new Map(Object.entries(before)), new Map(Object.entries(after))]
  return [...new Map([...old, ...given]).keys()].flatMap((key): Operation[] => {
    const at = `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
    const [was, value] = [old.get(key), given.get(key)]
    if (value === undefined) return [{ op: 'remove', path: at }]
    return was === undefined ? [{ op: 'add', path: at, value }] : diff(was, value, at)
  })
}

/** What differs between the equal ends is taken out and put in whole: most changes touch one element. */
function diffArrays(before: Json[], after: Json[], path: string): Operation[] {
  const shorter = Math.min(before.length, after.length)
  let start = 0
  while (start < shorter && isDeepStrictEqual(before[start], after[start])) start += 1
  let tail = 0
  while (tail < shorter - start && isDeepStrictEqual(before.at(-1 - tail), after.at(-1 - tail))) tail += 1
  const removed = before.slice(start, before.length - tail)
  const added = after.slice(start, after.length - tail)
  return [
    ...removed.map((): Operation => ({ op: 'remove', path: `${path}/${start}` })),
    ...added.map((value, index): Operation => ({ op: 'add', path: `${path}/${start + index}`, value })),
  ]
}
