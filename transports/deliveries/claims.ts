import { hash } from 'node:crypto'
import { parse, stringify } from 'node:querystring'
import type { Signed } from '../../src/lib/signatures.ts'

/**
 * Twilio signs our address with the sorted form, or has the hash of another body in it. It was signed with or without the port,
 * as it came, as a URL is normalised or with its query written anew: all are tried, as in Twilio's library.
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

/** As Node's older module writes a query: it leaves `!'()*~` and encodes what a URL may have as it is. */
function withNewQuery(address: string): string {
  const at = address.indexOf('?')
  return at < 0 ? address : `${address.slice(0, at)}?${stringify(parse(address.slice(at + 1)))}`
}

/** Each name with its values; a repeated pair counts once. */
function sortedFields(form: string): string {
  const fields = Map.groupBy(new URLSearchParams(form), ([name]) => name)
  const sorted = (all: Iterable<string>) => [...new Set(all)].sort()
  const withValues = (name: string) => sorted(fields.get(name)?.map((pair) => pair.join('')) ?? [])
  return sorted(fields.keys()).flatMap(withValues).join('')
}
