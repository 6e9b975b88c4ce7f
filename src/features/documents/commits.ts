import type { JsonObject } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import type { ChangeEntry } from './entries.ts'
import { diff } from './patch.ts'
import type { Reading } from './reading.ts'
import type { Actor, Change, Commit, DocumentSpec, Snapshot, Stored } from './spec.ts'

export const SYSTEM: Actor = { kind: 'system', name: 'trivium' }
const EDITOR: Actor = { kind: 'human', name: 'editor' }

/** What all writes to one document need. */
export type Writing<T extends JsonObject> = {
  spec: DocumentSpec<T>
  reading: Reading<T>
  now(): number
  log?: Log | undefined
}

/** The commit that makes a stored document current and readable; undefined if it already is. */
export function readyCommit<T extends JsonObject>(writing: Writing<T>, stored: Stored): Commit | undefined {
  const { spec, reading, log } = writing
  if ('missing' in stored) return wholeCommit(writing, stored.revision, 'bootstrap', spec.initial())
  const found = reading.contentOf(stored)
  const current = reading.migrate(found)
  const isMigrated = current !== found
  if ('document' in stored && !isMigrated) return undefined
  const document = isMigrated ? reading.validateMigrated(found, current) : reading.validateStored(current)
  if ('edited' in stored) {
    spec.adopt?.(document, stored.edited.at)
    if (stored.revision > 0) log?.info({ document: spec.name }, 'a change from outside was adopted')
  }
  const complete = (commit: Commit) => completeCommit(reading, commit, current)
  if (isMigrated) return complete(wholeCommit(writing, stored.revision, 'migration', document))
  return {
    ...complete(wholeCommit(writing, stored.revision, 'outside', document, EDITOR)),
    keepText: true,
  }
}

/** A whole commit with the unreadable entries of `current`, a document in the current version. */
export function completeCommit<T extends JsonObject>(
  reading: Reading<T>,
  commit: Commit,
  current: JsonObject,
): Commit {
  const whole = reading.withUnreadable(commit.document, current)
  return { ...commit, document: whole, change: { ...commit.change, document: whole } }
}

/** The commit that replaces the document at `revision` completely. */
export function wholeCommit<T extends JsonObject>(
  writing: Writing<T>,
  revision: number,
  event: Change['event'],
  document: JsonObject,
  actor = SYSTEM,
): Commit {
  const copy = writing.reading.validateNew(document)
  const change = changeOf(writing.now(), revision + 1, event, actor, { document: copy })
  return { change, document: copy }
}

/**
 * The commit that replaces `before`, the readable part of the stored document, by a valid one.
 * Undefined if nothing changes.
 */
export function updateCommit<T extends JsonObject>(
  { reading, now }: Writing<T>,
  stored: Snapshot,
  before: T,
  document: T,
  { actor, unreadable }: { actor: Actor; unreadable?: ChangeEntry | undefined },
): Commit | undefined {
  const changes = diff(before, document)
  const isAllReadable = before === stored.document
  if (changes.length === 0 && (isAllReadable || !unreadable)) return undefined
  const complete = isAllReadable ? document : reading.withUnreadable(document, stored.document, unreadable)
  const patch = isAllReadable ? changes : diff(stored.document, complete)
  if (patch.length === 0) return undefined
  return { change: changeOf(now(), stored.revision + 1, 'update', actor, { patch }), document: complete }
}

/** An event at `now` (Unix ms). */
function changeOf(
  now: number,
  seq: number,
  event: Change['event'],
  by: Actor,
  content: Pick<Change, 'patch' | 'document'>,
): Change {
  return { seq, time: new Date(now).toISOString(), event, actor: `${by.kind}:${by.name}`, ...content }
}
