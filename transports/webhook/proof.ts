import { signedFields, signedHeaders, signsBody } from '../../src/lib/signatures.ts'
import type { BodyOption } from '../deliveries/decode-body.ts'
import { type ReadableDelivery, valueAt } from '../deliveries/pointers.ts'
import type { Preset } from '../deliveries/preset.ts'
import { SNS_SIGNED } from '../deliveries/sns.ts'
import type { Verify } from '../deliveries/verify.ts'

/** What a signature proves. */
export type Proof = {
  /** Whether the whole body is proven. */
  body: boolean
  /** Proven paths in the body, if the whole body is not proven. */
  fields: readonly string[]
  /** Names of proven headers, in lower case. */
  headers: readonly string[] | 'all'
  /** Whether the query is proven. */
  query: boolean
  /** Whether the peer counts as a verified sender if the delivery names no sender. */
  sender: boolean
}

const NOTHING: Proof = { body: false, fields: [], headers: [], query: false, sender: false }
/** A shared secret in the request authenticates the whole request. */
const EVERYTHING: Proof = { body: true, fields: [], headers: 'all', query: true, sender: true }

/** What is proven by a verification of this kind. `as`: how bodies are decoded. */
export function proofOf(verify: Verify, preset: Preset | undefined, as: BodyOption = 'auto'): Proof {
  switch (verify.scheme) {
    case 'none':
      return NOTHING
    case 'header':
    case 'query':
    case 'bearer':
    case 'basic':
      return EVERYTHING
    case 'paypal':
      // Of the body, only a checksum is signed.
      return NOTHING
    case 'jwt':
      return { ...NOTHING, body: verify.detached || verify['body-hash'] !== undefined, sender: true }
    case 'plaid':
      return { ...NOTHING, body: true, sender: true }
    case 'sns':
      return { ...NOTHING, fields: SNS_SIGNED }
    case 'http-signature':
      return byComponents(verify.signs)
    case 'hmac':
    case 'hash':
    case 'public-key':
      return byTemplates([verify.template], as)
  }
  if (!preset?.signature) return EVERYTHING
  const proof = byTemplates(preset.signature.map(({ template }) => template))
  return preset.isBodyInUrl ? { ...proof, body: true, sender: true } : proof
}

/**
 * A delivery is signed by one of several templates, so only parts signed by all of them are
 * trusted. With `body: form.NAME`, the body is the JSON in this field.
 */
function byTemplates(templates: readonly (string | undefined)[], as: BodyOption = 'auto'): Proof {
  const all = templates.map((template = '{body}') => ({
    body: signsBody(template) || signedFields(template).some((name) => as === `form.${name}`),
    fields: signedFields(template),
    headers: signedHeaders(template),
    query: /\{(url|path)\??\}/.test(template),
  }))
  const [first = NOTHING, ...rest] = all
  const isInRest = (name: string, key: 'fields' | 'headers') =>
    rest.every((covered) => covered[key].includes(name))
  const body = all.every((covered) => covered.body)
  return {
    body,
    fields: first.fields.filter((name) => isInRest(name, 'fields')),
    headers: signedHeadersOf(first).filter((name) => isInRest(name, 'headers')),
    query: all.every((covered) => covered.query),
    sender: body,
  }
}

/**
 * Whether a proof covers the body, but not the header `Content-Type`. A captured delivery can then
 * be repeated with another type.
 */
export function leavesTypeOpen({ body, headers }: Proof): boolean {
  return body && headers !== 'all' && !headers.includes('content-type')
}

/** The components that every signature has to cover. */
function byComponents(signs: readonly string[]): Proof {
  const names = signs.map((name) => name.toLowerCase())
  const query = names.some((name) => ['@query', '@target-uri', '@request-target'].includes(name))
  return { body: true, fields: [], headers: names, query, sender: true }
}

const signedHeadersOf = ({ headers }: Pick<Proof, 'headers'>) => (headers === 'all' ? [] : headers)

/** The sender of a delivery, and whether its source is signed. */
export type Sender = { id: string; isProven: boolean }

/** The base of pointers: `data`, the body, or an element. */
type Base = 'data' | 'body' | 'element'

/** Prepares pointers to the sender, for many deliveries; the first that leads to a value counts. */
export function createSenderFinder(proof: Proof) {
  return (pointers: Preset['from'], base: Base): ((delivery: ReadableDelivery) => Sender | undefined) => {
    if (pointers === undefined) return () => undefined
    // Functions of presets read signed data only.
    if (typeof pointers === 'function') {
      return (delivery) => {
        const id = pointers(delivery)
        return id === undefined ? undefined : { id, isProven: true }
      }
    }
    const places = pointers
      .split(' ')
      .map((pointer) => ({ pointer, isProven: isProven(proof, pointer, base) }))
    return (delivery) => {
      for (const { pointer, isProven } of places) {
        const id = valueAt(pointer, delivery)
        if (id !== undefined) return { id, isProven }
      }
      return undefined
    }
  }
}

function isProven(proof: Proof, pointer: string, base: Base): boolean {
  const { headers, body, fields, query } = proof
  const isSigned = (name: string) => headers === 'all' || headers.includes(name.toLowerCase())
  const [, kind, name = ''] = /^(header|cookie)\.(.*)/.exec(pointer) ?? []
  if (kind) return isSigned(kind === 'header' ? name : 'cookie')
  if (pointer === '#' || base === 'element') return body
  if (base === 'body') return body || fields.includes(pointer)
  const [, root = '', path = ''] = /^([^.]+)\.?(.*)$/.exec(pointer) ?? []
  if (root === 'body') return body || fields.includes(path)
  if (root === 'headers') return isSigned(path)
  if (root === 'query') return query
  return (root === 'envelope' || root === 'split') && body
}
