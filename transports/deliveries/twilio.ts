import { hash } from 'node:crypto'
import { parse, stringify } from 'node:querystring'
import type { Signed } from '../../src/lib/signatures.ts'

const ORIGIN_WITH_PORT = /^(https?:\/\/[^/?]+?)(:\d+)?(?=[/?]|$)/
const ORIGIN = /^https?:\/\/[^/?]+/

/**
 * The texts that Twilio may have signed, as in Twilio's library. A text is the URL followed by the
 * sorted form fields, or the URL alone if its query has a hash of the body. The URL may have its
 * port or not, and be as received, normalised, or with a re-encoded query. Empty if the hash of the
 * body does not match.
 */
export function twilioVariants(request: Signed): Signed[] {
  const { raw, url: address = '' } = request
  const url = new URL(address)
  const bodyHash = url.searchParams.get('bodySHA256')
  if (bodyHash !== null && bodyHash !== hash('sha256', raw)) return []
  const fields = bodyHash === null ? sortedFields(raw.toString()) : ''
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  const spellings = [address, url.href, withReencodedQuery(url.href)]
  const withoutPort = spellings.map((spelling) => spelling.replace(ORIGIN_WITH_PORT, '$1'))
  const withPort = withoutPort.map((spelling) => spelling.replace(ORIGIN, `$&:${port}`))
  return [...new Set([...withoutPort, ...withPort])].map((start) => ({ ...request, url: start + fields }))
}

/**
 * Encodes a query like Node's legacy module: leaves `!'()*~`, and encodes some characters that URLs
 * may contain.
 */
function withReencodedQuery(address: string): string {
  const at = address.indexOf('?')
  return at < 0 ? address : `${address.slice(0, at)}?${stringify(parse(address.slice(at + 1)))}`
}

/** Each field name with its values; a repeated pair counts once. */
function sortedFields(form: string): string {
  const fields = Map.groupBy(new URLSearchParams(form), ([name]) => name)
  const sorted = (all: Iterable<string>) => [...new Set(all)].sort()
  const withValues = (name: string) => sorted(fields.get(name)?.map((pair) => pair.join('')) ?? [])
  return sorted(fields.keys()).flatMap(withValues).join('')
}
