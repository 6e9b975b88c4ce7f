import { elapsedText } from './age-text.ts'
import { beginningIn, cellsOf } from './cells.ts'

/** The age of a time: `3 s`, `12 min`, `4 h`, `2 d`; `-` without a time. */
export function age(at: unknown, now = Date.now()): string {
  return typeof at === 'number' ? elapsedText(now - at) : '-'
}

/** Whether lists are for a terminal; without one, for a pipe. */
export function isTerminal(): boolean {
  return process.stdout.columns > 0
}

/** A time in a list: its age at a terminal; in a pipe ISO 8601, which can be sorted. */
export function listAge(at: unknown): string {
  if (typeof at !== 'number' || isTerminal()) return age(at)
  return new Date(at).toISOString()
}

/** As `listAge`, in a sentence: `3 h ago`. */
export function listAgo(at: unknown): string {
  return isTerminal() ? `${age(at)} ago` : listAge(at)
}

/** A number in a list: with separators at a terminal, and as programs read it in a pipe. */
export function listCount(count: unknown): string {
  const value = Number(count ?? 0)
  return isTerminal() ? value.toLocaleString('en') : String(value)
}

/** `0.4 MB`, `1200.0 MB`. */
export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}

/**
 * The end of an id, for lists at a terminal; the whole id in a pipe. Commands take both (see
 * `fullId`).
 */
export function shortId(id: unknown, isTerminal = process.stdout.isTTY): string {
  const text = String(id)
  return isTerminal ? text.replace(LONG_ID, '$1').replace(RUN_ID, '$1') : text
}

/**
 * A UUID, or 16 hex digits. In the id of an unsent reply, the route and a number follow the UUID of
 * the message.
 */
const LONG_ID = /^(?:\w+:)?(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{4}|[0-9a-f]{8})([0-9a-f]{8}(?::.*)?)$/

/** A run of a schedule: its name, the planned time, and when it began. */
const RUN_ID = /^.+:\d{4}-\d\d-\d\dT[\d:.]+Z:(\d{8,})$/

/** A text of a list: shortened at a terminal, whole in a pipe. */
export function listText(text: string, width: number): string {
  return isTerminal() ? shorten(text, width) : text
}

/** A text of a list as one line: shortened at a terminal, whole in a pipe. */
export function lineOf(text: string, width: number): string {
  return shorten(text, isTerminal() ? width : Number.POSITIVE_INFINITY)
}

/** Shortens a text to one line of at most `width` characters; wide ones count twice. */
export function shorten(text: string, width: number): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return cellsOf(line) <= width ? line : `${beginningIn(line, width - 1)}…`
}
