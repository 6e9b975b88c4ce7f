import type { IncomingHttpHeaders } from 'node:http'
import { type Json, pathGet } from '../../src/core/json.ts'
import { createSecretCheck } from '../../src/lib/secrets.ts'
import { createSignatureCheck } from '../../src/lib/signatures.ts'
import { decodeBody } from './decode-body.ts'
import { found } from './pointers.ts'
import { PRESETS, type Preset } from './presets.ts'
import type { Verify } from './verify.ts'

/** What proves deliveries to one gateway. */
export type Verifier = {
  /** Why one is refused, by its body exactly as it came; undefined where it is good. `url`: where it was posted. */
  check(headers: IncomingHttpHeaders, raw: Buffer, url?: string): string | undefined
  /** For `WWW-Authenticate`, where the scheme has one. */
  challenge?: string
  /** Takes the secret out of a body that carries it: whoever may read messages could forge some. */
  conceal?(raw: Buffer): Buffer
}

/** What is known of the provider that a gateway is for; undefined for the schemes that fit anybody. */
export function presetOf({ scheme }: Verify): Preset | undefined {
  const known: Partial<Record<Verify['scheme'], Preset>> = PRESETS
  return known[scheme]
}

/** Makes the verifier of a gateway. All comparisons take constant time, whichever secret matches. */
export function createVerifier(options: Verify, now: () => number): Verifier {
  switch (options.scheme) {
    case 'none':
      return { check: () => undefined }
    case 'bearer':
      return { ...withSecret('authorization', options.secret, /^bearer +(\S+) *$/i), challenge: 'Bearer' }
    case 'basic': {
      // RFC 7617, with UTF-8.
      const known = options.secret.map((secret) =>
        Buffer.from(`${options.user}:${secret}`).toString('base64'),
      )
      return { ...withSecret('authorization', known, /^basic +([\w+/=-]+) *$/i), challenge: BASIC }
    }
    case 'header':
      return withSecret(options.header, options.secret)
    case 'hmac': {
      const { 'timestamp-header': time, ...scheme } = options
      return withPreset({ signature: [{ ...scheme, time }] }, options, now)
    }
    default:
      return withPreset(PRESETS[options.scheme], options, now)
  }
}

const BASIC = 'Basic realm="trivium", charset="UTF-8"'

type Known = { secret: string[]; tolerance?: number; url?: string }

function withPreset(preset: Preset, { secret, tolerance = 0, url = '' }: Known, now: () => number): Verifier {
  const { signature, keyOf = Buffer.from, claims = (headers) => [headers], header = '', inBody } = preset
  if (inBody) return withSecretInBody(inBody, secret)
  if (!signature) return withSecret(header, secret)
  const keys = secret.map((text) => keyOf(text))
  const checkSignature = createSignatureCheck(signature, keys, tolerance, now)
  return {
    check(headers, raw, path = '') {
      const [query = ''] = /\?.*/.exec(path) ?? []
      const reasons = claims(headers, raw, url + query).map((claimed) => checkSignature(claimed, raw))
      return reasons.includes(undefined) ? undefined : (reasons[0] ?? 'the body is not the signed one')
    },
  }
}

/** A header carries one of the known secrets, alone or as `pattern` says. */
function withSecret(header: string, known: string[], pattern = /^(.*)$/s): Verifier {
  const indexOf = createSecretCheck(known)
  return {
    check({ [header]: value = '' }) {
      const [, given = ''] = pattern.exec(String(value)) ?? []
      if (given === '') return `its credentials are missing: the header ${header}`
      return indexOf(given) < 0 ? 'its credentials are not known' : undefined
    },
  }
}

/** Each notification in the list `value` of a body carries one of the known secrets. */
function withSecretInBody(field: string, known: string[]): Verifier {
  const indexOf = createSecretCheck(known)
  return {
    check(headers, raw) {
      const items = pathGet(decodeBody(headers['content-type'], raw).body, 'value')
      const isOurs = (body: Json) => indexOf(found(field, { headers, body, text: '' }) ?? '') >= 0
      if (Array.isArray(items) && items.length > 0 && items.every(isOurs)) return undefined
      return `not every notification in it has the ${field} that is known here`
    },
    conceal: (raw) =>
      Buffer.from(
        JSON.stringify(JSON.parse(raw.toString()), (name, value) => (name === field ? undefined : value)),
      ),
  }
}
