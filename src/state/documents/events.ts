import patches from 'fast-json-patch'
import type { JsonObject } from '../../core/json.ts'
import { fullFiles } from '../files/line-file.ts'
import { lastLine, linesAfter, openIfThere } from '../files/lines.ts'
import type { Corrupt, OnBroken } from './backend.ts'
import type { Change, Snapshot } from './spec.ts'

/** A change as the file back end writes it. `sha`: the fingerprint of the text it leaves. */
export type LoggedChange = Change & { sha?: string }

/** The last change of a log, in a full file where the current one has none. Throws `state_corrupt`. */
export async function lastChange(path: string, corrupt: Corrupt): Promise<LoggedChange | undefined> {
  for (const file of [path, ...fullFiles(path).reverse()]) {
    const line = await lastLine(file)
    if (line === undefined) continue
    const change = parse(line)
    if (!change) throw corrupt(file, 'its end is no event')
    return change
  }
  return undefined
}

/** Every change, oldest first, over the full files too. A gap or a broken line is told to `onBroken`. */
export async function* readChanges(
  path: string,
  corrupt: Corrupt,
  onBroken: OnBroken,
): AsyncGenerator<Change> {
  let last: number | undefined
  for (const file of [...fullFiles(path), path]) {
    await using handle = await openIfThere(file)
    if (!handle) continue
    for (const [index, line] of (await linesAfter(handle, { offset: 0 })).entries()) {
      const change = parse(line)
      const where = `line ${index + 1}`
      if (!change) onBroken(corrupt(file, `${where} is no event`))
      else if (last !== undefined && change.seq !== last + 1)
        onBroken(corrupt(file, `${where} is event ${change.seq}, not ${last + 1}`))
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

/**
 * The newest document that the events tell of whole: behind what is broken, or missing, only from the next event that has
 * all of it. Each was checked when it was written.
 */
export async function rescue(
  changesOf: (onBroken: OnBroken) => AsyncIterable<Change>,
): Promise<{ found?: Snapshot | undefined; isWhole: boolean }> {
  let current: JsonObject | undefined
  let found: Snapshot | undefined
  let isWhole = true
  const broken = () => {
    isWhole = false
    current = undefined
  }
  for await (const change of changesOf(broken)) {
    try {
      // On a copy: one that fails in the middle must leave what was before it as it was.
      current = after(current, change, false)
    } catch {
      broken()
    }
    if (current) found = { document: current, revision: change.seq }
  }
  return { found, isWhole }
}

/** Undefined until the first event that has the whole document: what was before it is not known. */
function after(
  document: JsonObject | undefined,
  { document: whole, patch = [] }: Change,
  inPlace = true,
): JsonObject | undefined {
  if (whole || !document) return whole
  return patches.applyPatch(document, patch, true, inPlace).newDocument
}
