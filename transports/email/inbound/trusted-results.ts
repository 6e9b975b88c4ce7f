import type { Identity } from './identity.ts'
import type { Mail } from './parse.ts'

/**
 * What the Authentication-Results headers (RFC 8601) of `host` say about mail from `domain`. Only the topmost run
 * of them counts, up to the next Received header: what stands below was there before your server took the mail,
 * and anyone can write it. Your server must remove forged ones with its own name, as RFC 8601, section 5, asks.
 */
export function trustedResult(mail: Mail, host: string, domain: string): Identity {
  const results = topmost(mail, host).flatMap(methods)
  const detail =
    results.map(({ method, result }) => `${method}=${result}`).join(' ') || `nothing from ${host}`
  const has = (method: string, result: string) =>
    results.find((each) => each.method === method && each.result === result)
  if (has('dmarc', 'pass')) return { result: 'pass', by: 'trusted', detail }
  const dkim = results.some(
    (each) => each.method === 'dkim' && each.result === 'pass' && isAligned(each.domain, domain),
  )
  const spf = results.some(
    (each) => each.method === 'spf' && each.result === 'pass' && each.domain === domain,
  )
  if (has('dmarc', 'fail')) return { result: 'fail', by: 'trusted', detail }
  return { result: dkim || spf ? 'pass' : 'none', by: 'trusted', detail }
}

type MethodResult = { method: string; result: string; domain: string }

function topmost(mail: Mail, host: string): string[] {
  const found: string[] = []
  for (const { key, value } of mail.headers) {
    if (key === 'received' && found.length > 0) break
    if (key !== 'authentication-results') continue
    const text = withoutComments(value)
    const [id = '', ...rest] = text.split(';')
    if (id.trim().split(/\s/, 1)[0]?.toLowerCase() !== host.toLowerCase()) break
    found.push(rest.join(';'))
  }
  return found
}

function methods(text: string): MethodResult[] {
  return text
    .slice(0, 10_000)
    .split(';')
    .map((each) => /^\s*([\w-]{1,40})(?:\/\d+)?\s*=\s*(\w{1,40})/.exec(each)?.slice(1).concat(each))
    .filter((each) => each !== undefined)
    .map(([method = '', result = '', text = '']) => ({
      method: method.toLowerCase(),
      result: result.toLowerCase(),
      domain: signer(text),
    }))
}

/** The domain that a result speaks of: `header.d` for DKIM, the envelope sender's for SPF. */
function signer(text: string): string {
  const value = /\b(?:header\.d|header\.i|smtp\.mailfrom)\s*=\s*"?([^\s";]{1,300})/i.exec(text)?.[1] ?? ''
  return value.slice(value.lastIndexOf('@') + 1).toLowerCase()
}

/** A parent domain may sign for its children (relaxed alignment), never a child for its parent. */
function isAligned(signing: string, from: string): boolean {
  return signing.includes('.') && (from === signing || from.endsWith(`.${signing}`))
}

/** Without what stands in parentheses (RFC 5322, section 3.2.2), which says nothing to machines. */
export function withoutComments(text: string): string {
  let bare = ''
  let depth = 0
  for (const char of text.slice(0, 10_000)) {
    if (char === '(') depth++
    else if (char === ')') depth = Math.max(0, depth - 1)
    else if (depth === 0) bare += char
  }
  return bare
}
