import { hash } from 'node:crypto'
import { lstatSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'

/** Formats a document with sorted keys and one value per line, for readable diffs. */
export function formatDocument(document: JsonObject): string {
  // fromEntries defines own properties, so a key named `__proto__` stays data.
  const sorted = (_key: string, value: Json) =>
    isJsonObject(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value
  return `${JSON.stringify(document, sorted, 2)}\n`
}

/** The hash by which the event log recognises the text of a document. */
export function fingerprint(text: string | Uint8Array): string {
  return hash('sha256', text, 'hex').slice(0, 32)
}

/** Parses text to a JSON object. Throws a SyntaxError with the position. */
export function parseDocument(text: string): JsonObject {
  const parsed: unknown = JSON.parse(text)
  if (!isJsonObject(parsed)) throw new SyntaxError('it is not a JSON object')
  return parsed
}

/** A time (Unix ms) in the format of file names. */
export function stampOf(time: number): string {
  return new Date(time).toISOString().replaceAll(/[-:.]/g, '')
}

/** The error for an unreadable document. Only for the document `state`, repair needs no `--dir`. */
export function corruptError(name: string, path: string, reason: string, cause?: unknown): TriviumError {
  const option = name === 'state' ? '' : ` --dir ${dirname(path)}`
  const todo = `run \`trivium state repair ${name}${option}\` (in code: \`repair('${name}')\` of its manager)`
  return new TriviumError('state_corrupt', { path, reason, todo }, { cause })
}

/**
 * The reason if the file is a link. The parser's message would quote the text, and a link may lead
 * to any file of this user.
 */
export const LINK_REASON = 'it is a link to a file without a JSON object'

export function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false
}

/** Reads a file with a JSON object. Throws `state_corrupt` with the advice `todo`. */
export function readDocument(path: string, todo: string): JsonObject {
  try {
    return parseDocument(readFileSync(path, 'utf8'))
  } catch (error) {
    const reason = isLink(path) ? LINK_REASON : reasonOf(error)
    throw new TriviumError('state_corrupt', { path, todo, reason }, { cause: error })
  }
}
