/** A variable of a `.env` file, with its first line (from 1). */
export type DotenvEntry = { name: string; value: string; line: number }

/** An error in a `.env` file. Its message contains no values, except text inside `${…}`. */
export class DotenvError extends Error {
  readonly line: number
  constructor(line: number, message: string) {
    super(message)
    this.line = line
  }
}

type Lookup = (name: string) => string | undefined

/** Space before a value, as compose (in Go) defines it. */
const SPACE_BEFORE_VALUE = /^[ \t\v\f\r\u0085\u00a0]*/
/** A comment after an unquoted value; `a#b` is a value. */
const COMMENT = /[ \t]#.*$/s

/**
 * Parses a `.env` file like docker compose: quotes, escapes, `export`, comments and variables; see
 * docs/settings.md. Unlike compose, it refuses unset variables and text after a closing quote,
 * which are usually parts of a secret. `lookup`: the environment, which takes precedence over the
 * file. Throws `DotenvError`.
 */
export function parseDotenv(source: string, lookup: Lookup): DotenvEntry[] {
  const text = source.replace(/^\uFEFF/, '')
  const entries: DotenvEntry[] = []
  const known = new Map<string, string>()
  const get: Lookup = (name) => lookup(name) ?? known.get(name)
  let at = 0
  const lineAt = (offset: number) => text.slice(0, offset).split('\n').length
  while (at < text.length) {
    at += /^\s*/.exec(text.slice(at))?.[0].length ?? 0
    if (at >= text.length) break
    const line = lineAt(at)
    const end = endOfLine(text, at)
    if (text[at] === '#') {
      at = end
      continue
    }
    const { name, valueStart } = readName(text, at, end, line)
    at = end
    // A name alone means the variable of the environment, which needs no entry.
    if (valueStart === undefined) continue
    const found = readValue(text, valueStart, line, get)
    at = found.end
    known.set(name, found.value)
    entries.push({ name, value: found.value, line })
  }
  return entries
}

function endOfLine(text: string, from: number): number {
  const found = text.indexOf('\n', from)
  return found < 0 ? text.length : found
}

/** Parses `NAME=`, `export NAME =` or `NAME: `. `valueStart` is undefined for a name alone. */
function readName(text: string, at: number, end: number, line: number) {
  const source = text.slice(at, end)
  const [, head = '', name = '', mark] = /^(export\s+)?([^=:]*)([=:])?/s.exec(source) ?? []
  const trimmed = name.trim()
  const invalid = /[^\p{L}\p{N}_.[\]\-\s]/u.exec(trimmed)?.[0]
  if (invalid !== undefined)
    throw new DotenvError(line, `the character ${JSON.stringify(invalid)} is not allowed in a name`)
  if (trimmed === '') throw new DotenvError(line, 'there is no name before the "="')
  if (/\s/.test(trimmed))
    throw new DotenvError(
      line,
      "expected NAME=value, with no spaces in the name; is this the rest of the previous line's value?",
    )
  const valueStart = mark === undefined ? undefined : at + head.length + name.length + mark.length
  return { name: trimmed, valueStart }
}

function readValue(text: string, from: number, line: number, get: Lookup): { value: string; end: number } {
  const end = endOfLine(text, from)
  const rest = text.slice(from, end)
  const start = from + (SPACE_BEFORE_VALUE.exec(rest)?.[0].length ?? 0)
  const quote = text.charAt(start)
  if (quote === '"' || quote === "'") return readQuoted(text, start, quote, line, get)
  const value = rest.replace(COMMENT, '')
  return { value: expand(value.trim(), line, get), end }
}

function readQuoted(text: string, from: number, quote: string, line: number, get: Lookup) {
  let raw = ''
  let at = from + 1
  for (; at < text.length && text[at] !== quote; at += 1) {
    if (text[at] !== '\\' || at + 1 >= text.length) {
      raw += text[at]
      continue
    }
    at += 1
    raw += text[at] === quote ? quote : `\\${text[at]}`
  }
  if (at >= text.length) throw new DotenvError(line, `the quote ${quote} is not closed`)
  const end = endOfLine(text, at)
  if (/^\s*[^\s#]/.test(text.slice(at + 1, end)))
    throw new DotenvError(
      line,
      `there is text after the closing quote; write \\${quote} for a quote in a value`,
    )
  return { value: quote === '"' ? expand(resolveEscapes(raw), line, get) : raw, end }
}

const ESCAPES: Record<string, string> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  '"': '"',
  // The variable expansion that follows reads this as a literal `$`.
  $: '$$',
}

/** Resolves shell escapes. Keeps unknown ones as they are. */
function resolveEscapes(raw: string): string {
  return raw.replaceAll(/\\(?:([abfnrtv$"\\])|0([0-7]{3}))/g, (_, one: string, octal: string) =>
    octal === undefined ? (ESCAPES[one] ?? one) : String.fromCharCode(Number.parseInt(octal, 8)),
  )
}

const NAME = /^[A-Za-z_]\w*/

/** Expands `$NAME`, `${NAME}`, `${NAME:-default}` and the other forms of compose; `$$` is a `$`. */
function expand(text: string, line: number, get: Lookup): string {
  let expanded = ''
  for (let at = 0; at < text.length; ) {
    const rest = text.slice(at)
    if (!rest.startsWith('$')) {
      const next = rest.indexOf('$')
      const plain = next < 0 ? rest : rest.slice(0, next)
      expanded += plain
      at += plain.length
      continue
    }
    const { value, length } = readVariable(rest.slice(1), line, get)
    expanded += value
    at += 1 + length
  }
  return expanded
}

/** For errors: how to write a `$` that is not a variable. */
const DOLLAR_ADVICE = 'put the value in single quotes, or write $$ for a $'

/** Reads the variable after a `$`. `length` is that of its text, without the `$`. */
function readVariable(rest: string, line: number, get: Lookup): { value: string; length: number } {
  if (rest.startsWith('$')) return { value: '$', length: 1 }
  const [name] = NAME.exec(rest) ?? []
  if (name !== undefined)
    return {
      value: valueFor(name, line, get, 'a $ is followed by a name that is not set'),
      length: name.length,
    }
  const inside = rest.startsWith('{') ? textInBraces(rest) : undefined
  const [, braced, operator = '', word = ''] = /^([A-Za-z_]\w*)(?:(:?[-+?])(.*))?$/s.exec(inside ?? '') ?? []
  if (inside === undefined || braced === undefined)
    throw new DotenvError(line, `a $ that is not part of a variable; ${DOLLAR_ADVICE}`)
  const length = inside.length + 2
  const found = get(braced)
  const isSet = operator.startsWith(':') ? found !== undefined && found !== '' : found !== undefined
  const alternative = () => expand(word, line, get)
  if (operator.endsWith('-')) return { value: isSet ? (found ?? '') : alternative(), length }
  if (operator.endsWith('+')) return { value: isSet ? alternative() : '', length }
  if (operator.endsWith('?') && !isSet)
    throw new DotenvError(line, `the variable ${braced} is not set${word ? `: ${word}` : ''}`)
  return { value: valueFor(braced, line, get, `the variable ${braced} is not set`), length }
}

/** The text between the `{` at the start and its closing brace; undefined if that is missing. */
function textInBraces(text: string): string | undefined {
  let depth = 0
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '{') depth += 1
    if (text[at] === '}') depth -= 1
    if (depth === 0) return text.slice(1, at)
  }
  return undefined
}

/**
 * The value of a variable. An unset one is an error; compose would insert nothing, which may leave
 * half a password.
 */
function valueFor(name: string, line: number, get: Lookup, fault: string): string {
  const value = get(name)
  if (value === undefined) throw new DotenvError(line, `${fault}; set it before, or ${DOLLAR_ADVICE}`)
  return value
}
