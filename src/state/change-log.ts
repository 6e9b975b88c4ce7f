import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { TriviumError } from '../core/errors.ts'
import type { Change } from './document.ts'

/**
 * A change as the file back end writes it. `sha`, on the last change of each commit, is the fingerprint of
 * the text that the commit leaves. `base` is the event whose text it replaces, and `baseTime` that file's
 * modification time (ns): so a commit that a crash cut off can be told from an edit by a person.
 */
export type LoggedChange = Change & { sha?: string; base?: number; baseTime?: string }

/** The end of a log: its last change back to the one it is based on, where its whole lines end, torn bytes after. */
export type LogTail = { changes: LoggedChange[]; end: number; torn: number }

const CHUNK = 64 * 1024
const NEWLINE = 10

/**
 * Renames of one document that may not be durable yet, at most: a loss of power can take back all of them, and they
 * are caught up from the events.
 */
export const MOST_UNSYNCED = 8

/** Those, and the commit that a crash cut off. */
const COMMITS = MOST_UNSYNCED + 1

/**
 * Reads back from the end over the last few commits, as far as the event on which the oldest is based: a loss of
 * power can take back their renames, and leave half of the commit after them. The last event is enough where
 * `isEnough` says so. A line that is no change throws `state_corrupt`.
 */
export function readTail(path: string, name: string, isEnough: IsEnough = () => false): LogTail {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size === 0) return { changes: [], end: 0, torn: 0 }
  const fd = openSync(path, 'r')
  try {
    for (let length = Math.min(CHUNK, size); ; length = Math.min(length * 4, size)) {
      const bytes = Buffer.alloc(length)
      readSync(fd, bytes, 0, length, size - length)
      const tail = tailOf(bytes, size, length === size, { path, name }, isEnough)
      if (tail) return tail
    }
  } finally {
    closeSync(fd)
  }
}

/**
 * Reads every whole line after `after`, oldest first, over several logs of one document in their order. An event that
 * two of them have is given once. A torn last line is left out; any other throws.
 */
export async function* readChanges(
  paths: readonly string[],
  name: string,
  after: number,
): AsyncGenerator<LoggedChange> {
  let last: number | undefined
  for (const path of paths) {
    if (!statSync(path, { throwIfNoEntry: false })?.size) continue
    const { end } = readTail(path, name, () => true)
    if (end === 0) continue
    let line = 0
    let expected = last === undefined ? undefined : last + 1
    for (const text of linesOf(path, end)) {
      line += 1
      const change = parseChange(text, { path, name }, line)
      const isOverlap = line === 1 && expected !== undefined && change.seq < expected
      if (expected !== undefined && change.seq !== expected && !isOverlap) {
        throw corrupt({ path, name }, `line ${line} is event ${change.seq}, not ${expected}`)
      }
      expected = change.seq + 1
      if (last !== undefined && change.seq <= last) continue
      last = change.seq
      if (change.seq > after) yield change
    }
  }
}

/** The lines of the first `end` bytes, a chunk at a time. */
function* linesOf(path: string, end: number): Generator<string> {
  const fd = openSync(path, 'r')
  try {
    let rest = Buffer.alloc(0)
    const chunk = Buffer.alloc(CHUNK)
    for (let at = 0; at < end; ) {
      const length = readSync(fd, chunk, 0, Math.min(CHUNK, end - at), at)
      at += length
      const bytes = Buffer.concat([rest, chunk.subarray(0, length)])
      const whole = bytes.lastIndexOf(NEWLINE) + 1
      if (whole > 0) yield* bytes.toString('utf8', 0, whole - 1).split('\n')
      rest = bytes.subarray(whole)
    }
  } finally {
    closeSync(fd)
  }
}

type Source = { path: string; name: string }
type IsEnough = (last: LoggedChange) => boolean

/** Undefined: the bytes do not reach back far enough. */
function tailOf(
  bytes: Buffer,
  size: number,
  isWhole: boolean,
  source: Source,
  isEnough: IsEnough,
): LogTail | undefined {
  const newline = bytes.lastIndexOf(NEWLINE)
  if (newline < 0) return isWhole ? { changes: [], end: 0, torn: size } : undefined
  const torn = bytes.length - newline - 1
  const changes: LoggedChange[] = []
  const bases: number[] = []
  for (let end = newline; end >= 0; ) {
    const start = end === 0 ? 0 : bytes.lastIndexOf(NEWLINE, end - 1) + 1
    if (start === 0 && !isWhole) return undefined
    const change = parseChange(bytes.toString('utf8', start, end), source)
    changes.unshift(change)
    if (bases.length === 0 || change.seq === bases.at(-1)) bases.push(change.base ?? 0)
    if (bases.length > COMMITS || (changes.length === 1 && isEnough(change))) break
    end = start - 1
  }
  return { changes, end: size - torn, torn }
}

function parseChange(text: string, source: Source, line?: number): LoggedChange {
  try {
    const change: LoggedChange = JSON.parse(text)
    if (Number.isInteger(change?.seq) && (change.patch || change.document)) return change
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  throw corrupt(source, `${line ? `line ${line}` : 'its end'} is no event`)
}

function corrupt({ path, name }: Source, reason: string): TriviumError {
  return new TriviumError('state_corrupt', { path, name, reason })
}
