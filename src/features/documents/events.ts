import { isJsonObject } from '../../core/json.ts'
import { attempt } from '../../lib/attempt.ts'
import { fullFiles, lastLine, linesAfter, openIfThere } from '../../lib/line-file.ts'
import { applyPatch } from './patch.ts'
import { type Change, corrupt, type Snapshot } from './spec.ts'

/** A change in the file back end. `sha`: fingerprint of the resulting text. */
export type LoggedChange = Change & { sha?: string }

/** The last change in a document's log, including rotated files. Throws `state_corrupt`. */
export async function lastChange(name: string, path: string): Promise<LoggedChange | undefined> {
  for (const file of [path, ...fullFiles(path).reverse()]) {
    const line = await lastLine(file)
    if (line === undefined) continue
    const change = parse(line)
    if (!change) throw corrupt(name, file, 'it does not end with an event')
    return change
  }
  return undefined
}

/**
 * All changes including those in rotated files, oldest first. Throws `state_corrupt` for a gap or a
 * broken line.
 */
export async function* readChanges(name: string, path: string): AsyncGenerator<Change> {
  let last: number | undefined
  for (const file of [...fullFiles(path), path]) {
    await using handle = await openIfThere(file)
    if (!handle) continue
    for (const [index, line] of (await linesAfter(handle, { offset: 0 })).entries()) {
      const change = parse(line)
      const where = `line ${index + 1}`
      if (!change) throw corrupt(name, file, `${where} is not an event`)
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

/** A time (Unix ms) or a revision. */
export type Until = number | { revision: number }

/**
 * The newest complete document that can be reconstructed up to a time or revision. `broken`: the
 * error after it, if any.
 */
export async function told(
  changes: () => AsyncIterable<Change>,
  until: Until = Number.POSITIVE_INFINITY,
): Promise<{ found?: Snapshot | undefined; broken?: unknown }> {
  let found: Snapshot | undefined
  const last = typeof until === 'number' ? Number.POSITIVE_INFINITY : until.revision
  try {
    for await (const { seq, time, document: whole, patch = [] } of changes()) {
      if (seq > last || (typeof until === 'number' && Date.parse(time) > until)) break
      const document = whole ?? (found && applyPatch(found.document, patch))
      if (isJsonObject(document)) found = { document, revision: seq }
      if (seq === last) break
    }
    return { found }
  } catch (broken) {
    // A patch that failed may have been applied in part.
    return { found: found && (await told(changes, found)).found, broken }
  }
}
