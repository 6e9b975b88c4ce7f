import { createRequire } from 'node:module'
import type { RE2JS } from 're2js'
import { z } from 'zod'

const require = createRequire(import.meta.url)

/** A compiled glob or regex. `test` takes time linear in the text and never throws. */
export type Pattern = { source: string; test(text: string): boolean }

/** Maximum characters of a pattern. */
export const MAX_PATTERN = 1000
/**
 * Maximum size of a compiled pattern: RE2 takes time proportional to text length times program
 * size. Usual texts take well under a second.
 */
const MAX_PROGRAM = 5000

/**
 * Compiles a pattern of `match`: `/…/flags`, an RE2 regex (flags `i`, `m`, `s`) that may match
 * anywhere, or a glob over the whole text: `*` (also slashes and line breaks), `?`, `[a-z]`,
 * `[!a-z]`, `{a,b}`, `\` before a literal character. Globs ignore case. Nothing can backtrack.
 * Throws an Error that names the mistake.
 */
export function compilePattern(source: string): Pattern {
  return compileFolded(source, (text) => text.toLowerCase())
}

/**
 * As `compilePattern`, but globs are case-sensitive: for identities, where `Admin` and `admin` are
 * two people.
 */
export function compileExactPattern(source: string): Pattern {
  return compileFolded(source, undefined)
}

/** Makes texts comparable; undefined: compares them as they are. */
type Fold = ((text: string) => string) | undefined

function compileFolded(source: string, fold: Fold): Pattern {
  if (source.length > MAX_PATTERN) throw new Error(`is longer than ${MAX_PATTERN} characters`)
  const [, body, letters = ''] = REGEX.exec(source) ?? []
  if (body === '') throw new Error('is an empty regex')
  const unknown = letters.replaceAll(/[ims]/g, '')[0]
  if (unknown !== undefined) {
    throw new Error(
      `has the unknown regex flag "${unknown}" (known: i, m, s); to match a literal path, write "\\${source}"`,
    )
  }
  if (!needsRe2(source)) return compileStars(source, fold)
  const flags = letters === '' ? '' : `(?${letters})`
  const globFlags = fold ? 'is' : 's'
  const compiled = compile(body === undefined ? `(?${globFlags})^(?:${globToRegex(source)})$` : flags + body)
  return { source, test: (text) => compiled.test(text) }
}

const REGEX = /^\/(.*)\/(\w*)$/s

/** Whether a pattern is written as a regex, `/…/flags`, rather than as a glob. */
export function isRegex(source: string): boolean {
  return REGEX.test(source)
}

/**
 * Whether a pattern needs RE2, which takes longer than all other conditions of a route together.
 */
export function needsRe2(source: string): boolean {
  return isRegex(source) || /[\\?[{]/.test(source)
}

/**
 * Most patterns are plain names or contain only stars. They are tested for every message, so they
 * skip RE2.
 */
function compileStars(source: string, fold: Fold = (text) => text): Pattern {
  const [first = '', ...others] = fold(source).split('*')
  const last = others.pop()
  // There are no stars. A text that is longer than any pattern cannot match, and is not folded.
  if (last === undefined)
    return { source, test: (text) => text.length <= MAX_PATTERN && fold(text) === first }
  if (first + last + others.join('') === '') return { source, test: () => true }
  const test = (given: string) => {
    const text = fold(given)
    const end = text.length - last.length
    if (!text.startsWith(first) || !text.endsWith(last)) return false
    // The leftmost match of each part leaves the most text for the parts after it.
    let at = first.length
    for (const part of others) {
      const found = text.indexOf(part, at)
      if (found < 0) return false
      at = found + part.length
    }
    return at <= end
  }
  return { source, test }
}

/** A pattern in configuration, checked by `compilePattern`. Parses to its own text. */
export const patternText = z.string().superRefine((source, context) => {
  try {
    compilePattern(source)
  } catch (error) {
    const shown = JSON.stringify(source.length > 60 ? `${source.slice(0, 59)}…` : source)
    const reason = error instanceof Error ? error.message : error
    context.addIssue({ code: 'custom', message: `the pattern ${shown} ${reason}`, input: source })
  }
})

/** A part of a glob: an escaped character, a class (`[a-z]`, `[!a-z]`), or a single character. */
const GLOB_PART = /\\(.?)|\[([!^]?)(.[^\]]*)\]|./gsu

function globToRegex(source: string): string {
  let openBraces = 0
  const regex = source.replaceAll(GLOB_PART, (part, escaped?: string, negated?: string, inside?: string) => {
    if (escaped === '') throw new Error('ends with "\\"; write "\\\\" for the character itself')
    if (escaped !== undefined) return quote(escaped)
    if (inside !== undefined) {
      return `[${negated === '' ? '' : '^'}${inside.replaceAll(/[\\[\]^&~]/g, '\\$&')}]`
    }
    if (part === '*') return '.*'
    if (part === '?') return '.'
    if (part === '[') throw new Error('has a "[" without "]"; write "\\[" for the character itself')
    if (part === '{') {
      openBraces += 1
      return '(?:'
    }
    if (part === ',' && openBraces > 0) return '|'
    if (part === '}' && openBraces > 0) {
      openBraces -= 1
      return ')'
    }
    return quote(part)
  })
  if (openBraces > 0) throw new Error('has a "{" without "}"; write "\\{" for the character itself')
  return regex
}

/** Escapes the special characters of a regex. */
const quote = (text: string) => text.replaceAll(/[\\.+*?()|[\]{}^$]/g, '\\$&')

function compile(regex: string): RE2JS {
  // Loaded on first use: few installations need it.
  const { RE2JS, RE2JSException }: typeof import('re2js') = require('re2js')
  try {
    const compiled = RE2JS.compile(regex)
    if (compiled.programSize() > MAX_PROGRAM)
      throw new Error('is too large after its repetitions are expanded')
    return compiled
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error
    const reason = error.message.replace(/^error parsing regexp: /, '')
    throw new Error(`is not a valid RE2 regex: ${reason} (RE2 has no look-around or back-references)`, {
      cause: error,
    })
  }
}

/**
 * Makes a regex for text that starts with any of the prefixes. `deploy` matches "Deploy now" and
 * "deploy: now", not "deployed": a prefix ends where a word ends.
 */
export function compilePrefix(...prefixes: readonly string[]): RegExp {
  const escaped = prefixes.map((one) => {
    const prefix = one.trim()
    const end = /[\p{L}\p{N}_]$/u.test(prefix) ? '(?![\\p{L}\\p{N}_])' : ''
    return RegExp.escape(prefix) + end
  })
  // Prefixes are literal text, so this cannot backtrack.
  return new RegExp(`^\\s*(?:${escaped.join('|')})`, 'iu')
}
