import { RE2JS, RE2JSException } from 're2js'
import { z } from 'zod'

/** A compiled glob or regex. `test` takes time linear in the text and never throws. */
export type Pattern = {
  source: string
  /** `literal`: matches one text, case aside. `any`: everything. `stars`: a glob of literals and `*` only. */
  kind: 'literal' | 'any' | 'stars' | 'glob' | 'regex'
  test(text: string): boolean
}

/** Longer patterns are refused. */
export const MAX_PATTERN = 1000
/** What a regex (and a glob with `?`, `[…]` or `{…}`) sees of a text; the rest is not looked at. */
export const MAX_REGEX_TEXT = 65_536
/** RE2 takes time proportional to text times program; this keeps the worst case well under a second. */
const MAX_PROGRAM = 5000

const FLAGS: Record<string, number> = {
  i: RE2JS.CASE_INSENSITIVE,
  m: RE2JS.MULTILINE,
  s: RE2JS.DOTALL,
}

/**
 * Compiles what users write in `match`. `/…/flags` is an RE2 regex (flags `i`, `m`, `s`), found anywhere
 * in the text. Everything else is a glob over the whole text, case-insensitive: `*` is any text (slashes
 * and line breaks too), `?` one character, `[a-z]` and `[!a-z]` a class, `{a,b}` alternatives, `\` takes
 * the next character as it is. Nothing here can backtrack: globs of literals and `*` are searched for part
 * by part, the rest runs in RE2. Throws an Error that says what is wrong with the pattern.
 */
export function compilePattern(source: string): Pattern {
  if (source.length > MAX_PATTERN) throw new Error(`is longer than ${MAX_PATTERN} characters`)
  const end = source.lastIndexOf('/')
  const isRegex = source.startsWith('/') && end > 0 && /^\w*$/.test(source.slice(end + 1))
  return isRegex ? regex(source, source.slice(1, end), source.slice(end + 1)) : glob(source)
}

/** A pattern in configuration: text that `compilePattern` takes. Parses to the text itself. */
export const patternText = z.string().superRefine((source, context) => {
  try {
    compilePattern(source)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    context.addIssue({ code: 'custom', message: `the pattern ${shorten(source)} ${reason}`, input: source })
  }
})

function regex(source: string, body: string, letters: string): Pattern {
  if (body === '') throw new Error('is an empty regex')
  let flags = 0
  for (const letter of letters) {
    const flag = FLAGS[letter]
    if (flag === undefined) {
      throw new Error(
        `has the unknown regex flag "${letter}" (known: i, m, s); to match a path as it is, write "\\${source}"`,
      )
    }
    flags |= flag
  }
  return { source, kind: 'regex', test: re2(body, flags) }
}

function glob(source: string): Pattern {
  const parts = splitStars(source)
  if (!parts) return { source, kind: 'glob', test: re2(globToRegex(source), RE2JS.CASE_INSENSITIVE) }
  const folded = parts.map((part) => part.toLowerCase())
  const [first = '', ...rest] = folded
  if (rest.length === 0) return { source, kind: 'literal', test: (text) => text.toLowerCase() === first }
  if (folded.every((part) => part === '')) return { source, kind: 'any', test: () => true }
  const last = rest.pop() ?? ''
  return { source, kind: 'stars', test: (text) => matchParts(text.toLowerCase(), first, rest, last) }
}

/** The literal parts between the stars, or undefined where the glob needs more than stars. */
function splitStars(source: string): string[] | undefined {
  const parts = ['']
  for (let i = 0; i < source.length; i++) {
    const char = source[i] ?? ''
    if (char === '*') parts.push('')
    else if ('?[{'.includes(char)) return undefined
    else parts[parts.length - 1] += char === '\\' ? escaped(source, ++i) : char
  }
  return parts
}

/** Leftmost places for the middle parts are always good enough, so there is nothing to take back. */
function matchParts(text: string, first: string, middle: readonly string[], last: string): boolean {
  if (!text.startsWith(first)) return false
  const end = text.length - last.length
  if (!text.endsWith(last)) return false
  let from = first.length
  for (const part of middle) {
    const at = text.indexOf(part, from)
    if (at < 0) return false
    from = at + part.length
  }
  return from <= end
}

function globToRegex(source: string): string {
  let out = ''
  let braces = 0
  for (let i = 0; i < source.length; i++) {
    const char = source[i] ?? ''
    if (char === '*') out += '.*'
    else if (char === '?') out += '.'
    else if (char === '\\') out += RE2JS.quote(escaped(source, ++i))
    else if (char === '{') {
      braces++
      out += '(?:'
    } else if (char === '}' && braces > 0) {
      braces--
      out += ')'
    } else if (char === ',' && braces > 0) out += '|'
    else if (char === '[') {
      const close = source.indexOf(']', i + 2)
      if (close < 0) throw new Error('has a "[" without "]"; write "\\[" for the character itself')
      out += charClass(source.slice(i + 1, close))
      i = close
    } else out += RE2JS.quote(char)
  }
  if (braces > 0) throw new Error('has a "{" without "}"; write "\\{" for the character itself')
  return `(?s)^(?:${out})$`
}

function charClass(inside: string): string {
  const negated = /^[!^]/.test(inside)
  const members = (negated ? inside.slice(1) : inside).replaceAll(/[\\[\]^&~]/g, '\\$&')
  if (members === '') throw new Error('has an empty "[]"')
  return `[${negated ? '^' : ''}${members}]`
}

function escaped(source: string, index: number): string {
  const char = source[index]
  if (char === undefined) throw new Error('ends with "\\"; write "\\\\" for the character itself')
  return char
}

function re2(body: string, flags: number): (text: string) => boolean {
  const compiled = compileRe2(body, flags)
  if (compiled.programSize() > MAX_PROGRAM) throw new Error('is too large once its repeats are unrolled')
  return (text) => compiled.test(text.length > MAX_REGEX_TEXT ? text.slice(0, MAX_REGEX_TEXT) : text)
}

function compileRe2(body: string, flags: number): RE2JS {
  try {
    return RE2JS.compile(body, flags)
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error
    const reason = error.message.replace(/^error parsing regexp: /, '')
    throw new Error(`is no RE2 regex: ${reason} (look-around and back-references are not in RE2)`, {
      cause: error,
    })
  }
}

function shorten(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 59)}…` : text)
}
