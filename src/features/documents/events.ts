import { isDeepStrictEqual } from 'node:util'
import patches from 'fast-json-patch'
import { isJsonObject, type Json } from '../../core/json.ts'
import { attempt } from '../../lib/attempt.ts'
import { fullFiles, lastLine, linesAfter, openIfThere } from '../../lib/line-file.ts'
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

/** Every change, oldest first, over the full files too; throws `state_corrupt` at a gap or a broken line. */
export async function* readChanges(name: string, path: string): AsyncGenerator<Change> {
  let last: number | undefined
  for (const file of [...fullFiles(path), path]) {
    await using handle = await openIfThere(file)
    if (!handle) continue
    for (const [index, line] of (await linesAfter(handle, { offset: 0 })).entries()) {
      const change = parse(line)
      const where = `line ${index + 1}`
      if (!change) throw corrupt(name, file, `${where} is no event`)
      last ??= change.seq - 1
      if (change.seq !== last + 1)
        throw corrupt(name, file, `${where} is event ${change.seq}, not ${last + 1}`)
      last = change.seq
      yield change
    }
  }
}

function parse(line: string): LoggedChange | undefined {
  const change: LoggedChange | undefined = attempt(() => JSON.parse(line))
  return Number.isInteger(change?.seq) && (change?.patch || change?.document) ? change : undefined
}

/** A moment (Unix ms) or a revision. */
export type Until = number | { revision: number }

/** The newest document that events tell of whole, up to a moment, and what is `broken` behind it. */
export async function told(
  changes: () => AsyncIterable<Change>,
  until: Until = Number.POSITIVE_INFINITY,
): Promise<{ found?: Snapshot | undefined; broken?: unknown }> {
  let found: Snapshot | undefined
  const last = typeof until === 'number' ? Number.POSITIVE_INFINITY : until.revision
  try {
    for await (const { seq, time, document: whole, patch = [] } of changes()) {
      if (seq > last || (typeof until === 'number' && Date.parse(time) > until)) break
      const document = whole ?? (found && patches.applyPatch(found.document, patch, true).newDocument)
      if (document) found = { document, revision: seq }
      if (seq === last) break
    }
    return { found }
  } catch (broken) {
    // A patch that does not fit may have been applied by half.
    return { found: found && (await told(changes, found)).found, broken }
  }
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
