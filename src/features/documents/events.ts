import { isJsonObject } from '../../core/json.ts'
import { attempt } from '../../lib/attempt.ts'
import { lastLine, linesAfter, logFiles, rotatedFiles } from '../../lib/line-file.ts'
import { applyPatch } from './patch.ts'
import type { Change, Snapshot } from './spec.ts'
import { corruptError } from './text.ts'

/** A change in the log of the file back end. `sha`: fingerprint of the resulting text. */
export type LoggedChange = Change & { sha?: string }

/**
 * The last change of a document, also if it is in a rotated file. Throws `state_corrupt` if it is
 * unreadable.
 */
export async function lastChange(name: string, path: string): Promise<LoggedChange | undefined> {
  for (const file of [path, ...rotatedFiles(path).reverse()]) {
    const line = await lastLine(file)
    if (line === undefined) continue
    const change = parse(line)
    if (!change) throw corruptError(name, file, 'it does not end with an event')
    return change
  }
  return undefined
}

/**
 * All changes including those in rotated files, oldest first. Throws `state_corrupt` for a broken
 * line, and for a gap. If the history is erased meanwhile, the rest begins with a change that has
 * the complete document.
 */
export async function* readChanges(name: string, path: string): AsyncGenerator<Change> {
  let last: number | undefined
  for await (const { file, handle } of logFiles(path)) {
    for (const [index, line] of (await linesAfter(handle, 0)).lines.entries()) {
      const change = parse(line)
      const where = `line ${index + 1}`
      if (!change) throw corruptError(name, file, `${where} is not an event`)
      last ??= change.seq - 1
      const isNext = change.seq === last + 1 || (change.document && (await isErased(path, last)))
      if (!isNext) throw corruptError(name, file, `${where} is event ${change.seq}, not ${last + 1}`)
      last = change.seq
      yield change
    }
  }
}

/** Whether the changes up to this one were erased. */
async function isErased(path: string, last: number): Promise<boolean> {
  for await (const { handle } of logFiles(path)) {
    const [first = ''] = (await linesAfter(handle, 0)).lines
    return (parse(first)?.seq ?? 0) > last
  }
  return false
}

function parse(line: string): LoggedChange | undefined {
  const change: LoggedChange | undefined = attempt(() => JSON.parse(line))
  return Number.isInteger(change?.seq) && (change?.patch || change?.document) ? change : undefined
}

/** The end of a replay: a time (Unix ms), or a revision. */
export type Until = number | { revision: number }

/**
 * `found`: the newest document that the changes can reconstruct up to a time or revision; undefined
 * before the first change with a complete document. `error`: why the changes after `found` cannot be
 * read.
 */
export async function replayChanges(
  changes: () => AsyncIterable<Change>,
  until: Until = Number.POSITIVE_INFINITY,
): Promise<{ found?: Snapshot | undefined; error?: unknown }> {
  let found: Snapshot | undefined
  const lastTime = typeof until === 'number' ? until : Number.POSITIVE_INFINITY
  const lastRevision = typeof until === 'number' ? Number.POSITIVE_INFINITY : until.revision
  try {
    for await (const { seq, time, document: whole, patch = [] } of changes()) {
      if (seq > lastRevision || Date.parse(time) > lastTime) break
      const document = whole ?? (found && applyPatch(found.document, patch))
      if (isJsonObject(document)) found = { document, revision: seq }
      if (seq === lastRevision) break
    }
    return { found }
  } catch (error) {
    // Replays again up to `found`, because a patch that failed may have changed that document.
    return { found: found && (await replayChanges(changes, { revision: found.revision })).found, error }
  }
}
