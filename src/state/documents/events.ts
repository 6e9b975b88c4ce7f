import patches from 'fast-json-patch'
import { TriviumError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { fullFiles } from '../files/line-file.ts'
import { lastLine, linesAfter, openIfThere } from '../files/lines.ts'
import type { Change, Snapshot } from './spec.ts'

/** A change as the file back end writes it. `sha`: the fingerprint of the text it leaves. */
export type LoggedChange = Change & { sha?: string }

/** The last change of a log, in a full file where the current one has none. Throws `state_corrupt`. */
export async function lastChange(path: string, name: string): Promise<LoggedChange | undefined> {
  for (const file of [path, ...fullFiles(path).reverse()]) {
    const line = await lastLine(file)
    if (line !== undefined) return parse(line, file, name, 'its end')
  }
  return undefined
}

/** Every change, oldest first, over the full files too. Throws `state_corrupt` for a gap or a broken line. */
export async function* readChanges(path: string, name: string): AsyncGenerator<Change> {
  let last: number | undefined
  for (const file of [...fullFiles(path), path]) {
    await using handle = await openIfThere(file)
    if (!handle) continue
    for (const [index, line] of (await linesAfter(handle, { offset: 0 })).entries()) {
      const where = `line ${index + 1}`
      const change = parse(line, file, name, where)
      if (last !== undefined && change.seq !== last + 1) {
        throw corrupt(file, name, `${where} is event ${change.seq}, not ${last + 1}`)
      }
      last = change.seq
      yield change
    }
  }
}

function parse(line: string, path: string, name: string, where: string): LoggedChange {
  try {
    const change: LoggedChange = JSON.parse(line)
    if (Number.isInteger(change?.seq) && (change.patch || change.document)) return change
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  throw corrupt(path, name, `${where} is no event`)
}

function corrupt(path: string, name: string, reason: string): TriviumError {
  return new TriviumError('state_corrupt', { path, name, reason })
}

/** What a document was at a moment (Unix ms) or a revision. Undefined: its events begin later. */
export async function replay(
  changes: AsyncIterable<Change>,
  until: number | { revision: number },
): Promise<Snapshot | undefined> {
  let snapshot: Snapshot | undefined
  for await (const change of changes) {
    const isLater = typeof until === 'number' ? Date.parse(change.time) > until : change.seq > until.revision
    if (isLater) break
    const document = after(snapshot?.document, change)
    if (document) snapshot = { document, revision: change.seq }
  }
  return snapshot
}

/** The last document that the events tell of, up to the first broken one. Each was checked when it was written. */
export async function rescue(
  changes: AsyncIterable<Change>,
): Promise<{ document?: JsonObject | undefined; isWhole: boolean }> {
  let document: JsonObject | undefined
  try {
    for await (const change of changes) document = after(document, change)
    return { document, isWhole: true }
  } catch {
    return { document, isWhole: false }
  }
}

/** Undefined until the first event that has the whole document: what was before it is not known. */
function after(
  document: JsonObject | undefined,
  { document: whole, patch = [] }: Change,
): JsonObject | undefined {
  if (whole || !document) return whole
  return patches.applyPatch(document, patch, true).newDocument
}
