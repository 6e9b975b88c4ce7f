import { createPublicKey, hash, type KeyObject } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { decodeBody } from './decode-body.ts'
import { found } from './pointers.ts'

/** The key in a Standard Webhooks secret: base64 after `whsec_`. Throws where it is none. */
export function standardKey(text: string): Buffer {
  const encoded = text.replace(/^whsec_/, '')
  if (!/^[\w+/-]+={0,2}$/.test(encoded)) throw new TypeError('no base64')
  return Buffer.from(encoded, 'base64')
}

/** A public key as Discord shows it: 32 bytes in hex. Throws where it is none. */
export function ed25519Key(hex: string): KeyObject {
  const x = Buffer.from(hex, 'hex').toString('base64url')
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
}

/** A public key as SendGrid shows it: its DER form in base64. Throws where it is none. */
export function publicKey(text: string): KeyObject {
  return createPublicKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'spki' })
}

/** Twilio signs our address with the sorted form, or has the hash of another body in it; with or without port, so both are tried. */
export function twilioClaims(headers: IncomingHttpHeaders, raw: Buffer, address: string) {
  const url = new URL(address)
  const bodyHash = url.searchParams.get('bodySHA256')
  if (bodyHash !== null && bodyHash !== hash('sha256', raw)) return []
  const fields = bodyHash === null ? sortedFields(raw.toString()) : ''
  const bare = address.replace(/^(https?:\/\/[^/?]+?)(:\d+)?(?=[/?]|$)/, '$1')
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  const withPort = bare.replace(/^https?:\/\/[^/?]+/, `$&:${port}`)
  return [bare, withPort].map((start) => ({ ...headers, signed: start + fields }))
}

/** Each name with its values; a repeated pair counts once. */
function sortedFields(form: string): string {
  const fields = Map.groupBy(new URLSearchParams(form), ([name]) => name)
  const sorted = (all: Iterable<string>) => [...new Set(all)].sort()
  const withValues = (name: string) => sorted(fields.get(name)?.map((pair) => pair.join('')) ?? [])
  return sorted(fields.keys()).flatMap(withValues).join('')
}

/** Mailgun signs in the body: below `signature`, or beside the fields of a form; of a subaccount by the key of the main account too. */
export function mailgunClaims(headers: IncomingHttpHeaders, raw: Buffer): IncomingHttpHeaders[] {
  // Packed, a body may say one thing and unpacked another.
  if (headers['content-encoding'] !== undefined) return []
  const delivery = { headers, ...decodeBody(headers['content-type'], raw) }
  const said = (name: string) => found(`signature.${name} ${name}`, delivery) ?? ''
  const signature = `${said('signature')},${said('parent-signature')}`
  // Nothing stands between the two: a longer time would leave a captured token a beginning shorter, and so another.
  const [timestamp = ''] = /^\d{10}$/.exec(said('timestamp')) ?? []
  return [{ signature, timestamp, token: said('token') }]
}
