import { hash } from 'node:crypto'
import { parse, stringify } from 'node:querystring'
import type { Signed } from '../../src/lib/signatures.ts'

/**
 * The texts that Twilio may have signed: the URL with sorted form fields, or with a hash of the
 * body in it. The URL may be signed with or without the port, as received, normalised, or with its
 * query re-encoded. All variants are tried, as in Twilio's library.
 */
export function twilioClaims(request: Signed): Signed[] {
  const { raw, url: address = '' } = request
  const url = new URL(address)
  const bodyHash = url.searchParams.get('bodySHA256')
  if (bodyHash !== null && bodyHash !== hash('sha256', raw)) return []
  const fields = bodyHash === null ? sortedFields(raw.toString()) : ''
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  const bare = [address, url.href, withNewQuery(url.href)].map((one) =>
    one.replace(/^(https?:\/\/[^/?]+?)(:\d+)?(?=[/?]|$)/, '$1'),
  )
  const withPort = bare.map((one) => one.replace(/^https?:\/\/[^/?]+/, `$&:${port}`))
  return [...new Set([...bare, ...withPort])].map((start) => ({ ...request, url: start + fields }))
}

/**
 * Encodes a query like Node's legacy module: leaves `!'()*~`, and encodes some characters that URLs
 * may contain.
 */
function withNewQuery(address: string): string {
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
