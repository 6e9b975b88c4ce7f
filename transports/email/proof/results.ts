import { domainToASCII } from 'node:url'

/** One statement of an Authentication-Results header: `dkim=pass (good) header.d=example.net`. */
export type MethodResult = {
  method: string
  result: string
  /** By name (`header.from`), in lower case; values without their quotes. */
  properties: ReadonlyMap<string, string>
  /** The text in parentheses. It is for people, but some servers state the policy only there. */
  comments: string
}

export type AuthenticationResults = { host: string; results: MethodResult[] }

const MAX_CHARS = 10_000

/**
 * Reads the value of an Authentication-Results header (RFC 8601, section 2.2). Senders control
 * parts of it, such as `smtp.mailfrom="a; dmarc=pass b"@evil.example`. Returns undefined for
 * anything that breaks the grammar: an unclosed quote or comment, unexpected words, a property with
 * two values.
 */
export function parseAuthenticationResults(value: string): AuthenticationResults | undefined {
  const [head, ...statements] = statementsIn(value) ?? []
  const [host, version] = head?.words ?? []
  if (!head || !host || !/^\d*$/.test(version ?? '') || head.words.length > 2 || head.pairs.length > 0)
    return undefined
  const results: MethodResult[] = []
  for (const { words, pairs, comments } of statements) {
    const [first, ...rest] = pairs
    // The only valid word is `none`: the server has no results.
    const isNone = !first && words[0]?.toLowerCase() === 'none'
    if (words.length > (isNone ? 1 : 0)) return undefined
    if (!first) continue
    const properties = new Map(rest)
    if (rest.some(([name, value]) => properties.get(name) !== value)) return undefined
    const [method, result] = first
    results.push({ method: method.replace(/\/\d+$/, ''), result: result.toLowerCase(), properties, comments })
  }
  return { host: host.toLowerCase(), results }
}

/** The domain of an address, or a domain, in normalised form; '' if it is invalid. */
export function domainOf(address: string): string {
  return domainToASCII(address.slice(address.lastIndexOf('@') + 1)).replace(/\.$/, '')
}

/** Whether a domain is `parent` or one of its subdomains. */
export function isWithin(domain: string, parent: string): boolean {
  const name = domainOf(domain)
  return name === parent || name.endsWith(`.${parent}`)
}

/**
 * Removes comments in parentheses (RFC 5322, section 3.2.2). Undefined if one of them is not
 * closed.
 */
export function withoutComments(text: string): string | undefined {
  return piecesOf(text)
    ?.map((piece) => (piece.startsWith('(') ? ' ' : piece))
    .join('')
}

type Statement = { words: string[]; pairs: [name: string, value: string][]; comments: string }

function statementsIn(text: string): Statement[] | undefined {
  const pieces = text.length > MAX_CHARS ? undefined : piecesOf(text)
  const statements: string[][] = [[]]
  for (const piece of pieces ?? []) {
    if (piece === ';') statements.push([])
    else statements.at(-1)?.push(piece)
  }
  return pieces && statements.map(readStatement)
}

/**
 * A name ends at the first `=`, possibly with spaces around it. Further `=` belong to its value.
 */
const PAIR_OR_WORD = /([\w./-]+)\s*=\s*((?:"(?:[^"\\]|\\.)*"|[^\s"])*)|((?:"(?:[^"\\]|\\.)*"|[^\s"])+)/gs

function readStatement(pieces: readonly string[]): Statement {
  const isComment = (piece: string) => piece.startsWith('(')
  const text = pieces.map((piece) => (isComment(piece) ? ' ' : piece)).join('')
  const comments = pieces.filter(isComment).map((piece) => ` ${piece.slice(1, -1)}`)
  const statement: Statement = { words: [], pairs: [], comments: comments.join('') }
  for (const [, name, value = '', word = ''] of text.matchAll(PAIR_OR_WORD)) {
    if (name) statement.pairs.push([name.toLowerCase(), unquoted(value)])
    else statement.words.push(unquoted(word))
  }
  return statement
}

function unquoted(text: string): string {
  return text.replaceAll(/"((?:[^"\\]|\\.)*)"/gs, (_, within: string) => within.replaceAll(/\\(.)/g, '$1'))
}

/** A comment (possibly with one inside), a quoted string, or a single character. */
const PIECE = /\((?:[^()\\]|\\.|\((?:[^()\\]|\\.)*\))*\)|"(?:[^"\\]|\\.)*"|[^()"]/gs

/**
 * Splits a text into comments, quoted strings and single characters. Undefined if a comment or
 * string is not closed.
 */
function piecesOf(text: string): string[] | undefined {
  const pieces = text.match(PIECE) ?? []
  return pieces.join('').length === text.length ? pieces : undefined
}
