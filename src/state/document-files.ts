import { type BigIntStats, readFileSync, statSync } from 'node:fs'
import { isJsonObject, type JsonObject } from '../core/json.ts'
import type { FileLock } from '../lib/file-lock.ts'
import type { Stored } from './backend.ts'
import { type LoggedChange, type LogTail, MOST_UNSYNCED, readTail } from './change-log.ts'
import { fingerprint, parseDocument } from './document.ts'
import { applyPatch } from './patch.ts'

/** What the file system says of a file; undefined where there is none. */
export type FileMark = BigIntStats | undefined

/** Both files of a document at one moment. */
export type Marks = { events: FileMark; document: FileMark }

/** What one document's files were when we last looked; files that are the same have the same content. */
export type Seen = { marks: Marks; stored: Stored; base: number; textTime: string; tail: LogTail }

/** The files of one document, and what this process knows of them. */
export type DocumentFiles = {
  name: string
  document: string
  events: string
  lock: FileLock
  log?: { fd: number; inode: bigint }
  seen?: Seen
  /** Renames that may not be durable; at `MOST_UNSYNCED` the next commit makes them so beside its own. */
  unsynced: number
  syncTimer?: NodeJS.Timeout
}

/** Reads what is there, unless nothing changed since the last time. */
export function look(files: DocumentFiles): Seen {
  const marks = marksOf(files)
  if (files.seen && isUnchanged(files.seen.marks, marks)) {
    // The mode may be another: it is no content.
    files.seen.marks = marks
    return files.seen
  }
  const document = markOf(files.document)
  const text = document ? readFileSync(files.document, 'utf8') : undefined
  const sha = fingerprint(text ?? '')
  const tail = readTail(files.events, files.name, (last) => last.sha === sha)
  const textTime = String(document?.mtimeNs ?? '')
  const { stored, base } = interpret(text, textTime, Number(document?.mtimeMs ?? 0), tail.changes)
  // Of another process: how many renames it left is not known here.
  files.unsynced = MOST_UNSYNCED
  files.seen = { marks, stored, base, textTime, tail }
  return files.seen
}

/** Tells apart: up to date, cut off by a crash before the rename, edited by a person, and not there. */
function interpret(
  text: string | undefined,
  textTime: string,
  at: number,
  changes: readonly LoggedChange[],
): { stored: Stored; base: number } {
  const last = changes.at(-1)
  const revision = last?.seq ?? 0
  if (text === undefined) {
    // Only the event log is left: a new document continues its numbers.
    return { stored: { revision, missing: true }, base: revision }
  }
  const sha = fingerprint(text)
  if (last?.sha === sha) {
    return { stored: { revision, document: last.document ?? parseDocument(text) }, base: revision }
  }
  const index = changes.findLastIndex(
    (change, at) =>
      change.sha === sha && changes[at + 1]?.base === change.seq && changes[at + 1]?.baseTime === textTime,
  )
  const start = changes[index]
  if (start) {
    const document = changes.slice(index + 1).reduce(after, start.document ?? parseDocument(text))
    return { stored: { revision, document }, base: start.seq }
  }
  return { stored: { revision, edited: { text, at } }, base: revision }
}

function after(document: JsonObject, change: LoggedChange): JsonObject {
  if (change.document) return change.document
  const next = applyPatch(document, change.patch ?? [])
  return isJsonObject(next) ? next : {}
}

/** The files as they are now. */
export function marksOf(files: DocumentFiles): Marks {
  return { events: markOf(files.events), document: markOf(files.document) }
}

export function markOf(path: string): FileMark {
  return statSync(path, { bigint: true, throwIfNoEntry: false })
}

export function isUnchanged(before: Marks, after: Marks): boolean {
  return isSame(before.events, after.events) && isSame(before.document, after.document)
}

/** Inode, time and size: a rename brings another inode, an append another size. */
export function isSame(before: FileMark, after: FileMark): boolean {
  return before?.ino === after?.ino && before?.mtimeNs === after?.mtimeNs && before?.size === after?.size
}
