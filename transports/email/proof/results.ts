import { domainToASCII } from 'node:url'
import type { ARCChainEntry } from 'mailauth'

/** One statement of an Authentication-Results header: `dkim=pass (good) header.d=example.net`. */
export type MethodResult = {
  method: string
  result: string
  /** By name (`header.from`), in lower case; values without their quotes. */
  properties: ReadonlyMap<string, string>
  /** What stands in parentheses: for people, but for the policy, which has no other place. */
  comments: string
}

export type AuthenticationResults = { host: string; results: MethodResult[] }

const MAX = 10_000

/**
 * Reads the value of an Authentication-Results header (RFC 8601, section 2.2). Senders choose some of what servers
 * write there, such as `smtp.mailfrom="a; dmarc=pass b"@evil.example`. So whatever does not follow the grammar to the
 * letter is undefined: an open quote or comment, words without a place, a property with two values.
 */
export function parseAuthenticationResults(value: string): AuthenticationResults | undefined {
  const [head, ...statements] = statementsIn(value) ?? []
  const [host, version] = head?.words ?? []
  if (!head || !host || !/^\d*$/.test(version ?? '') || head.words.length > 2 || head.pairs.length > 0)
    return undefined
  const results: MethodResult[] = []
  for (const { words, pairs, comments } of statements) {
    const [first, ...rest] = pairs
    if (words.length > (first || words[0]?.toLowerCase() !== 'none' ? 0 : 1)) return undefined
    if (!first) continue
    const properties = new Map(rest)
    if (rest.some(([name, value]) => properties.get(name) !== value)) return undefined
    const [method, result] = first
    results.push({ method: method.replace(/\/\d+$/, ''), result: result.toLowerCase(), properties, comments })
  }
  return { host: host.toLowerCase(), results }
}

/**
 * Whether forwarders that are trusted saw proof that the mail came from `domain`, before they changed it: mailing
 * lists and forwarding break DKIM and SPF of honest mail, and ARC (RFC 8617) is how they say so. `chain` is a chain
 * that was verified as a whole. Every one of its sealers must be in `trusted`, since each could have made up what
 * stands below it.
 */
export function provenBeforeForwarding(
  chain: readonly ARCChainEntry[],
  trusted: ReadonlySet<string>,
  domain: string,
): boolean {
  const sealers = chain.map((entry) => String(entry['arc-seal']?.parsed?.d?.value ?? '').toLowerCase())
  if (sealers.length === 0 || !sealers.every((sealer) => trusted.has(sealer))) return false
  // The first of them saw the mail as it was sent. A From that was written anew after it is not what it vouched for.
  const original = String(chain[0]?.['arc-authentication-results']?.original ?? '')
  const value = /^[^:;]*:\s*i\s*=\s*1\s*;(.*)$/is.exec(original)?.[1] ?? ''
  const found = parseAuthenticationResults(value)?.results.filter(({ method }) => method === 'dmarc') ?? []
  const isProof = ({ result, properties }: MethodResult) =>
    result === 'pass' && domainOf(properties.get('header.from') ?? '') === domain
  return found.length > 0 && found.every(isProof)
}

/** The domain of an address, or a domain, in the one form in which domains are compared; '' where it is none. */
export function domainOf(address: string): string {
  return domainToASCII(address.slice(address.lastIndexOf('@') + 1)).replace(/\.$/, '')
}

/** Without what stands in parentheses (RFC 5322, section 3.2.2). Undefined where one of them is not closed. */
export function withoutComments(text: string): string | undefined {
  return piecesOf(text)
    ?.map((piece) => (piece.startsWith('(') ? ' ' : piece))
    .join('')
}

type Statement = { words: string[]; pairs: [name: string, value: string][]; comments: string }

/** A name ends at the first `=`; more of them belong to its value (`smtp.mailfrom=bounce+a=b@c`). */
function statementsIn(text: string): Statement[] | undefined {
  let statement: Statement = { words: [], pairs: [], comments: '' }
  const all = [statement]
  let word: string | undefined
  let name: string | undefined
  const endWord = () => {
    if (word === undefined) return
    if (name === undefined) statement.words.push(word)
    else statement.pairs.push([name, word])
    word = undefined
    name = undefined
  }
  const pieces = text.length > MAX ? undefined : piecesOf(text)
  for (const piece of [...(pieces ?? []), ';']) {
    if (piece.startsWith('(')) {
      endWord()
      statement.comments += ` ${piece.slice(1, -1)}`
    } else if (piece.startsWith('"')) {
      word = (word ?? '') + piece.slice(1, -1).replaceAll(/\\(.)/g, '$1')
    } else if (piece === ';') {
      // A null path is written as nothing.
      if (name !== undefined) word ??= ''
      endWord()
      statement = { words: [], pairs: [], comments: '' }
      all.push(statement)
    } else if (/\s/.test(piece)) {
      endWord()
    } else if (piece === '=' && name === undefined) {
      // Blanks and comments may stand around it.
      name = (word ?? statement.words.pop())?.toLowerCase()
      if (!name || !/^[\w./-]+$/.test(name)) return undefined
      word = undefined
    } else {
      word = (word ?? '') + piece
    }
  }
  return pieces && all
}

/** Comments and quoted strings as they are, and every other character by itself. Undefined where one is not closed. */
function piecesOf(text: string): string[] | undefined {
  const pieces: string[] = []
  for (let at = 0; at < text.length; ) {
    const end = text[at] === '(' ? endOfComment(text, at) : text[at] === '"' ? endOfQuote(text, at) : at + 1
    if (end === undefined || text[at] === ')') return undefined
    pieces.push(text.slice(at, end))
    at = end
  }
  return pieces
}

function endOfQuote(text: string, start: number): number | undefined {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '"') return at + 1
  }
  return undefined
}

function endOfComment(text: string, start: number): number | undefined {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '(') depth++
    else if (text[at] === ')' && --depth === 0) return at + 1
  }
  return undefined
}
