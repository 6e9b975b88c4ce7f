import { isUtf8 } from 'node:buffer'
import { open } from 'node:fs/promises'
import { relative } from 'node:path'
import { LineCounter } from 'yaml'
import { reasonOf } from '../core/errors.ts'
import type { Problem } from './problem.ts'

/** A file in memory that can say where in it something is wrong. */
export type Source = {
  text: string
  /** A problem at an offset into `text`. */
  problem(offset: number, message: string, severity?: Problem['severity']): Problem
  lines: LineCounter
}

/** Larger files are refused unread. */
export const MAX_FILE = 256 * 1024
const MAX_EXCERPT = 100

/** Reads a configuration file. A file that is missing, too large or not UTF-8 is a problem, not a throw. */
export async function readSource(path: string, cwd: string): Promise<Source | Problem> {
  const file = relative(cwd, path) || path
  const bytes = await readBounded(path)
  if (typeof bytes === 'string') return { severity: 'error', file, message: bytes }
  return isUtf8(bytes) ? createSource(file, bytes.toString('utf8')) : notUtf8(file, bytes)
}

/** Text with its places. `file` is how problems call it. */
export function createSource(file: string, text: string): Source {
  const lines = new LineCounter()
  lines.addNewLine(0)
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines.addNewLine(at + 1)
  return {
    text,
    lines,
    problem(offset, message, severity = 'error') {
      const { line, col } = lines.linePos(Math.min(Math.max(0, offset), text.length))
      return { severity, file, line, column: col, message, excerpt: excerpt(text, offset, line, col) }
    },
  }
}

async function readBounded(path: string): Promise<Buffer | string> {
  try {
    await using handle = await open(path)
    const stat = await handle.stat()
    if (!stat.isFile()) return 'is not a file'
    if (stat.size > MAX_FILE) return `is ${stat.size} bytes long; the limit is ${MAX_FILE}`
    return await handle.readFile()
  } catch (error) {
    const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    return missing
      ? 'there is no such file; `trivium init` writes one, TRIVIUM_CONFIG names another'
      : `cannot be read: ${reasonOf(error)}`
  }
}

function notUtf8(file: string, bytes: Buffer): Problem {
  let line = 1
  let start = 0
  for (let end = bytes.indexOf(10); end >= 0 && isUtf8(bytes.subarray(start, end)); line++) {
    start = end + 1
    end = bytes.indexOf(10, start)
  }
  const rest = bytes.subarray(start, start + 10_000)
  // The replacement character stands where decoding first fails.
  const column = rest.toString('utf8').indexOf('\ufffd') + 1
  return { severity: 'error', file, line, column, message: 'the file is not UTF-8; save it as UTF-8 text' }
}

/** The line and a caret; of a long line only what is around the place. */
function excerpt(text: string, offset: number, line: number, column: number): string {
  const start = offset - (column - 1)
  const end = text.indexOf('\n', start)
  const whole = text.slice(start, end < 0 ? undefined : end).replace(/\r$/, '')
  const from = column > MAX_EXCERPT - 20 ? column - 40 : 0
  const shown = whole.slice(from, from + MAX_EXCERPT)
  const indent = shown.slice(0, column - 1 - from).replaceAll(/[^\t]/g, ' ')
  const number = String(line)
  return `  ${number} | ${shown}\n  ${' '.repeat(number.length)} | ${indent}^`
}
