import { readFileSync, statSync } from 'node:fs'
import { isJsonObject, type JsonObject } from '../core/json.ts'
import type { Stored } from './backend.ts'
import { type LoggedChange, type LogTail, readTail } from './change-log.ts'
import { fingerprint, parseDocument } from './document.ts'
import type { FileLock } from './file-lock.ts'
import { applyPatch } from './patch.ts'

/** What one document's files were when we last looked; the same stamp means the same content. */
export type Seen = { stamp: string; stored: Stored; base: number; textTime: string; tail: LogTail }

/** The files of one document, and what this process knows of them. */
export type DocumentFiles = {
  name: string
  document: string
  events: string
  lock: FileLock
  log?: { fd: number; inode: string }
  seen?: Seen
  /** Set while a rename may not be durable; the next commit makes it so before its own. */
  isDirty: boolean
  syncTimer?: NodeJS.Timeout
}

/** Reads what is there, unless nothing changed since the last time. */
export function look(files: DocumentFiles): Seen {
  const stamp = stampOf(files)
  if (files.seen?.stamp === stamp) return files.seen
  const tail = readTail(files.events, files.name)
  const found = statSync(files.document, { bigint: true, throwIfNoEntry: false })
  const text = found ? readFileSync(files.document, 'utf8') : undefined
  const textTime = String(found?.mtimeNs ?? '')
  const { stored, base } = interpret(text, textTime, Number(found?.mtimeMs ?? 0), tail.changes)
  files.isDirty = true
  files.seen = { stamp, stored, base, textTime, tail }
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

/** Changes with every commit and every edit. */
export function stampOf(files: DocumentFiles): string {
  return `${textStamp(files.events)}|${textStamp(files.document)}`
}

/** Inode, time and size: a rename brings another inode, an append another size. */
export function textStamp(path: string): string {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found ? `${found.ino}:${found.mtimeNs}:${found.size}` : ''
}
