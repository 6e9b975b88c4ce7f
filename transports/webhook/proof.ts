import { signedFields, signedHeaders } from '../../src/lib/signatures.ts'
import { found, type Readable } from '../deliveries/pointers.ts'
import type { Preset } from '../deliveries/preset.ts'
import { SNS_SIGNED } from '../deliveries/sns.ts'
import type { Verify } from '../deliveries/verify.ts'

/**
 * What the proof of a delivery covers. `body`: all of it; `fields`: only these paths in it. `headers` in lower case. `sender`: whoever
 * sent the request, at the address of the peer.
 */
export type Proof = {
  body: boolean
  fields: readonly string[]
  headers: readonly string[] | 'all'
  query: boolean
  sender: boolean
}

const NOTHING: Proof = { body: false, fields: [], headers: [], query: false, sender: false }
/** A shared secret comes from its holder, with everything else in the request. */
const EVERYTHING: Proof = { body: true, fields: [], headers: 'all', query: true, sender: true }

/** What a gateway with this proof may believe. */
export function proofOf(verify: Verify, preset: Preset | undefined): Proof {
  switch (verify.scheme) {
    case 'none':
      return NOTHING
    case 'header':
    case 'bearer':
    case 'basic':
      return EVERYTHING
    case 'jwt':
      return { ...NOTHING, body: verify['body-hash'] !== undefined, sender: true }
    case 'sns':
      return { ...NOTHING, fields: SNS_SIGNED }
    case 'hmac':
      return byTemplates([verify.template])
  }
  if (!preset?.signature) return EVERYTHING
  const proof = byTemplates(preset.signature.map(({ template }) => template))
  return preset.isBodyInUrl ? { ...proof, body: true, sender: true } : proof
}

/** A delivery is proven by one of these templates: only what all of them sign is proven. */
function byTemplates(templates: readonly (string | undefined)[]): Proof {
  const all = templates.map((template = '{body}') => ({
    body: template.includes('{body}'),
    fields: signedFields(template),
    headers: signedHeaders(template),
    query: /\{(url|path)\??\}/.test(template),
  }))
  const [first = NOTHING, ...rest] = all
  const inEach = (name: string, key: 'fields' | 'headers') => rest.every((one) => one[key].includes(name))
  const body = all.every((one) => one.body)
  return {
    body,
    fields: first.fields.filter((name) => inEach(name, 'fields')),
    headers: signedHeadersOf(first).filter((name) => inEach(name, 'headers')),
    query: all.every((one) => one.query),
    sender: body,
  }
}

const signedHeadersOf = ({ headers }: Pick<Proof, 'headers'>) => (headers === 'all' ? [] : headers)

/** Who sent a delivery, and whether the place that says so is proven. */
export type Sender = { id: string; isProven: boolean }

/** Where pointers begin: in `data`, in the body, or in one element of it. */
type Place = 'data' | 'body' | 'element'

/** Makes what finds the sender by pointers, the first that leads to one. */
export function createSenderFinder(proof: Proof) {
  return (pointers: Preset['from'], place: Place, delivery: Readable): Sender | undefined => {
    if (pointers === undefined) return undefined
    // A preset that reads with a function reads what its provider signs.
    if (typeof pointers === 'function') {
      const id = pointers(delivery)
      return id === undefined ? undefined : { id, isProven: true }
    }
    for (const pointer of pointers.split(' ')) {
      const id = found(pointer, delivery)
      if (id !== undefined) return { id, isProven: isProven(proof, pointer, place) }
    }
    return undefined
  }
}

function isProven(proof: Proof, pointer: string, place: Place): boolean {
  const { headers, body, fields, query } = proof
  const isSigned = (name: string) => headers === 'all' || headers.includes(name.toLowerCase())
  const [, kind, name = ''] = /^(header|cookie)\.(.*)/.exec(pointer) ?? []
  if (kind) return isSigned(kind === 'header' ? name : 'cookie')
  if (pointer === '#' || place === 'element') return body
  if (place === 'body') return body || fields.includes(pointer)
  const [, root = '', path = ''] = /^([^.]+)\.?(.*)$/.exec(pointer) ?? []
  if (root === 'body') return body || fields.includes(path)
  if (root === 'headers') return isSigned(path)
  if (root === 'query') return query
  return (root === 'envelope' || root === 'split') && body
}
