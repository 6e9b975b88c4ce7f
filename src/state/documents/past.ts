import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { applyPatch } from './patch.ts'
import type { Change, Snapshot } from './spec.ts'

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

/** The last right document that the events tell of, up to the first broken one. */
export async function rescue(
  changes: AsyncIterable<Change>,
  isRight: (document: JsonObject) => boolean,
): Promise<{ document?: JsonObject; isWhole: boolean }> {
  let document: JsonObject | undefined
  let right: JsonObject | undefined
  let isWhole = true
  try {
    for await (const change of changes) {
      // An update is checked before it is written; what takes its place as a whole may be wrong.
      if (change.document && document && isRight(document)) right = structuredClone(document)
      document = after(document, change)
    }
  } catch {
    isWhole = false
  }
  if (document && isRight(document)) right = document
  return { ...(right ? { document: right } : {}), isWhole }
}

/** Undefined until the first event that has the whole document: what was before it is not known. */
function after(document: JsonObject | undefined, change: Change): JsonObject | undefined {
  if (change.document) return change.document
  if (!document) return undefined
  const next = applyPatch(document, change.patch ?? [])
  if (isJsonObject(next)) return next
  throw new Error(`event ${change.seq} leaves no document`)
}
