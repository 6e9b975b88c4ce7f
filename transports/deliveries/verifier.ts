import { TriviumError } from '../../src/core/errors.ts'
import { type Json, pathGet } from '../../src/core/json.ts'
import { createSecretCheck } from '../../src/lib/secrets.ts'
import { createSignatureCheck, readsMore, type Scheme, type Signed } from '../../src/lib/signatures.ts'
import { anyPublicKey, keyOfSecret } from '../keys.ts'
import { type BodyOption, decodeBody, fieldOfForm } from './decode-body.ts'
import { createHttpSignatureVerifier } from './http-signature.ts'
import { createJwtCheck } from './jwt.ts'
import { createPaypalVerifier, PAYPAL } from './paypal.ts'
import { createPlaidVerifier } from './plaid.ts'
import { valueAt } from './pointers.ts'
import type { Preset } from './preset.ts'
import { PRESETS } from './presets.ts'
import { createSnsVerifier, SNS } from './sns.ts'
import { isCompressed } from './unpack.ts'
import type { Verifier, VerifierDeps } from './verifier-types.ts'
import type { Verify } from './verify.ts'

/** The preset of a gateway's provider; undefined for general schemes. */
export function presetOf({ scheme }: Verify): Preset | undefined {
  const known: Partial<Record<Verify['scheme'], Preset>> = { ...PRESETS, sns: SNS, paypal: PAYPAL }
  return known[scheme]
}

/**
 * Creates the verifier of a gateway. All comparisons take constant time, regardless of which secret
 * matches. Throws `config_invalid` if the URL that the provider signs is unknown.
 */
export function createVerifier(options: Verify, deps: VerifierDeps): Verifier {
  switch (options.scheme) {
    case 'none':
      return { check: () => undefined }
    case 'bearer':
      return { ...withSecret('authorization', options.secret, /^bearer +(\S+) *$/i), challenge: 'Bearer' }
    case 'basic': {
      // RFC 7617, with UTF-8.
      const credentials = options.secret.map((secret) =>
        Buffer.from(`${options.user}:${secret}`).toString('base64'),
      )
      const verifier = withSecret('authorization', credentials, /^basic +([\w+/=-]+) *$/i)
      return { ...verifier, challenge: 'Basic realm="trivium", charset="UTF-8"' }
    }
    case 'header':
      return withSecret(options.header, options.secret)
    case 'query':
      return withSecretInQuery(options.name, options.secret)
    case 'jwt':
      return {
        check: createJwtCheck(options, deps),
        ...(options.header === 'authorization' && { challenge: 'Bearer' }),
      }
    case 'http-signature':
      return createHttpSignatureVerifier(options, deps)
    case 'sns':
      return createSnsVerifier(options, deps)
    case 'paypal':
      return createPaypalVerifier(options, deps)
    case 'plaid':
      return createPlaidVerifier(options, deps)
    case 'hmac':
    case 'hash':
    case 'public-key':
      return withPreset(schemePreset(options), options, deps)
    default:
      return withPreset(PRESETS[options.scheme], options, deps)
  }
}

function schemePreset(options: Extract<Verify, { scheme: 'hmac' | 'hash' | 'public-key' }>): Preset {
  const { header, field, prefix, algorithm, encoding, template } = options
  const place = {
    ...(options['timestamp-header'] !== undefined && { header: options['timestamp-header'] }),
    ...(options['timestamp-field'] !== undefined && { field: options['timestamp-field'] }),
    ...(options['timestamp-prefix'] !== undefined && { prefix: options['timestamp-prefix'] }),
  }
  const time = Object.keys(place).length > 0 ? place : undefined
  const isHash = options.scheme === 'hash'
  const scheme: Scheme = { header, field, prefix, algorithm, encoding, template, time, isHash }
  const keyOf = (secret: string) => {
    if (options.scheme === 'public-key') return anyPublicKey(secret)
    return keyOfSecret(secret, options.scheme === 'hmac' ? options['secret-encoding'] : 'text')
  }
  return { signature: [scheme], keyOf }
}

type PresetSettings = { secret: string[]; tolerance?: number; url?: string }

function withPreset(preset: Preset, settings: PresetSettings, deps: VerifierDeps): Verifier {
  const { secret, tolerance = 0, url } = settings
  const { signature, keyOf = Buffer.from, signedVariants, header = '', inBody } = preset
  if (inBody) return withSecretInBody(inBody, secret, deps.body)
  if (!signature) return withSecret(header, secret)
  const isAddressSigned = signature.some(({ template }) => template?.includes('{url}'))
  const address = () => url ?? deps.address?.()
  if (isAddressSigned && address() === undefined) throw noAddress(deps.gateway)
  const keys = secret.map((text) => keyOf(text))
  const check = createSignatureCheck(signature, keys, tolerance, deps.now)
  const { open } = preset
  const conceal = open && { conceal: (raw: Buffer) => open(raw, secret) }
  // Most providers sign only the body and headers.
  if (!signedVariants && !signature.some(readsMore)) return { check, ...conceal }
  return {
    ...conceal,
    check({ url: path, ...delivery }) {
      const publicUrl = isAddressSigned ? address() : undefined
      const request: Signed = { ...delivery, path, field: fieldReader(delivery, deps.body) }
      if (publicUrl !== undefined) request.url = publicUrl + queryIn(path)
      if (!signedVariants) return check(request)
      const reasons = signedVariants(request).map(check)
      return reasons.includes(undefined) ? undefined : (reasons[0] ?? 'the body differs from the signed one')
    },
  }
}

function queryIn(path: string): string {
  const start = path.indexOf('?')
  return start < 0 ? '' : path.slice(start)
}

function noAddress(gateway: string): TriviumError {
  const details = `gateway ${gateway}: verify: the provider signs the address; set \`url: https://HOST/PATH\` as the provider has it, or \`public-url\``
  return new TriviumError('config_invalid', { details })
}

/**
 * Creates a function that reads a field of the body: at the first of several paths that leads to a
 * text, number or boolean. The body is decoded on first use. With `body: form.NAME`, the path
 * `NAME` gives the form field as it was sent. Compressed bodies are not read, because their content
 * could differ from what was signed.
 */
function fieldReader(
  { headers, raw }: Pick<Signed, 'headers' | 'raw'>,
  as: BodyOption | undefined,
): NonNullable<Signed['field']> {
  const type = headers['content-type']
  const name = as?.startsWith('form.') ? as.slice('form.'.length) : undefined
  let body: Json | undefined
  const isUnreadable = isCompressed(headers['content-encoding'])
  let isRead = isUnreadable
  return (paths) => {
    // The JSON in this form field may have a field of the same name. That one is not meant: with
    // it, the rest of the JSON would not be signed.
    if (paths === name) return isUnreadable ? undefined : fieldOfForm(type, raw, name)
    if (!isRead) body = decodeBody(type, raw, as).body
    isRead = true
    for (const path of paths.split(' ')) {
      const value = pathGet(body, path)
      const isScalar = typeof value === 'number' || typeof value === 'boolean'
      if (isScalar || (typeof value === 'string' && value !== '')) return String(value)
    }
    return undefined
  }
}

/** Requires one of the known secrets in a header: as its whole value, or the group of `pattern`. */
function withSecret(header: string, known: string[], pattern = /^(.*)$/s): Verifier {
  const indexOf = createSecretCheck(known)
  return {
    check({ headers: { [header]: value = '' } }) {
      const [, candidate = ''] = pattern.exec(String(value)) ?? []
      if (candidate === '') return `its credentials are missing: the header ${header}`
      return indexOf(candidate) < 0 ? 'its credentials are wrong' : undefined
    },
  }
}

/** Requires one of the known secrets in a query parameter, which must not be repeated. */
function withSecretInQuery(name: string, known: string[]): Verifier {
  const indexOf = createSecretCheck(known)
  return {
    check({ url = '' }) {
      const [value = '', ...others] = new URLSearchParams(queryIn(url)).getAll(name)
      if (value === '') return `its credentials are missing: the query parameter ${name}`
      return others.length > 0 || indexOf(value) < 0 ? 'its credentials are wrong' : undefined
    },
  }
}

/** Requires one of the known secrets in each notification of the body's list `value`. */
function withSecretInBody(field: string, known: string[], as: BodyOption | undefined): Verifier {
  const indexOf = createSecretCheck(known)
  return {
    check({ headers, raw }) {
      const items = pathGet(decodeBody(headers['content-type'], raw, as).body, 'value')
      const isOurs = (body: Json) => indexOf(valueAt(field, { headers, body, text: '' }) ?? '') >= 0
      if (Array.isArray(items) && items.length > 0 && items.every(isOurs)) return undefined
      return `one of its notifications has another ${field}`
    },
    conceal(raw, { 'content-type': type }) {
      const { format, body } = decodeBody(type, raw, as)
      if (format !== 'json') throw new TriviumError('bad_request', { reason: 'its body is not JSON' })
      return Buffer.from(JSON.stringify(body, (name, value) => (name === field ? undefined : value)))
    },
  }
}
