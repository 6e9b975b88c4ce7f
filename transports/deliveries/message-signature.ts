import type { IncomingHttpHeaders } from 'node:http'

/** A signature of RFC 9421, as the headers `Signature-Input` and `Signature` describe it. */
export type MessageSignature = {
  label: string
  /** What is signed, in order. */
  components: Component[]
  /** The text of the line `@signature-params`. */
  params: string
  created?: number
  expires?: number
  keyId?: string
  algorithm?: string
  tag?: string
  value: Buffer
}

export type Component = {
  name: string
  text: string
  /** The name of the query parameter that `@query-param` covers. */
  parameter?: string
  /** False with parameters that change the value, such as `sf`. */
  isKnown: boolean
}

/** What a signature can cover of the request. `url`: the public address with the query. */
export type Target = { method: string; headers: IncomingHttpHeaders; path: string; url?: string | undefined }

const TEXT = String.raw`"(?:[^"\\]|\\["\\])*"`
const BARE = String.raw`(?:${TEXT}|:[\w+/=]*:|\?[01]|[\w*:/.%+-]+)`
const PARAMETERS = String.raw`(?:; *[a-z*][\w.*-]*(?:=${BARE})?)*`
// Spaces are outside of the lookbehind, which would read all of them again at each one.
const INPUT = new RegExp(
  String.raw`(?<=^|,) *([a-z*][\w.*-]*)=(\(((?: *${TEXT}${PARAMETERS})*) *\)(${PARAMETERS}))(?= *(?:,|$))`,
  'g',
)
const VALUE = /(?<=^|,) *([a-z*][\w.*-]*)=:([\w+/=]*):(?= *(?:,|;|$))/g
const ITEM = new RegExp(`(${TEXT})(${PARAMETERS})`, 'g')
const PARAMETER = new RegExp(String.raw`; *([a-z*][\w.*-]*)(?:=(${BARE}))?`, 'g')

/** Enough for a sender and some proxies. Limited because checking a signature takes time. */
const MAX_SIGNATURES = 5

/** The first signatures of a request, up to `MAX_SIGNATURES`. */
export function signaturesIn(headers: IncomingHttpHeaders): MessageSignature[] {
  const values = new Map<string, Buffer>()
  for (const [, label = '', encoded = ''] of textOf(headers, 'signature').matchAll(VALUE))
    values.set(label, Buffer.from(encoded, 'base64'))
  return Array.from(textOf(headers, 'signature-input').matchAll(INPUT))
    .slice(0, MAX_SIGNATURES)
    .flatMap(([, label = '', params = '', items = '', parameters = '']): MessageSignature[] => {
      const value = values.get(label)
      if (!value) return []
      const { created, expires, keyid, alg, tag } = parametersIn(parameters)
      return [
        {
          label,
          params,
          value,
          components: Array.from(items.matchAll(ITEM), ([text, name = '', own = '']) =>
            componentOf(text, name, own),
          ),
          ...(created !== undefined && { created: Number(created) }),
          ...(expires !== undefined && { expires: Number(expires) }),
          ...(keyid !== undefined && { keyId: keyid }),
          ...(alg !== undefined && { algorithm: alg }),
          ...(tag !== undefined && { tag }),
        },
      ]
    })
}

function componentOf(text: string, quoted: string, own: string): Component {
  const { name: parameter, ...others } = parametersIn(own)
  const name = unquoted(quoted)
  const isKnown = Object.keys(others).length === 0 && (name === '@query-param') === (parameter !== undefined)
  return { name, text, isKnown, ...(parameter !== undefined && { parameter }) }
}

function parametersIn(text: string): Partial<Record<string, string>> {
  const all = Array.from(text.matchAll(PARAMETER), ([, name = '', value = '?1']) => [name, unquoted(value)])
  return Object.fromEntries(all)
}

function unquoted(value: string): string {
  return value.startsWith('"') ? value.slice(1, -1).replaceAll(/\\(["\\])/g, '$1') : value
}

/**
 * The text that is signed (RFC 9421, 2.5), or the name of a component that the request does not
 * have or that the signature lists twice.
 */
export function signedText(
  signature: MessageSignature,
  target: Target,
): { text: string } | { missing: string } {
  const lines: string[] = []
  const seen = new Set<string>()
  for (const component of signature.components) {
    const value = component.isKnown ? componentValue(component, target) : undefined
    if (value === undefined || seen.has(component.text)) return { missing: component.name }
    seen.add(component.text)
    lines.push(`${component.text}: ${value}`)
  }
  lines.push(`"@signature-params": ${signature.params}`)
  return { text: lines.join('\n') }
}

function componentValue(
  { name, parameter }: Component,
  { method, headers, path, url }: Target,
): string | undefined {
  const at = path.indexOf('?')
  const address = url === undefined ? undefined : new URL(url)
  switch (name) {
    case '@method':
      return method
    case '@path':
      return at < 0 ? path : path.slice(0, at)
    case '@query':
      return at < 0 ? '?' : path.slice(at)
    case '@request-target':
      return path
    case '@target-uri':
      return url
    case '@authority':
      return address?.host
    case '@scheme':
      return address?.protocol.slice(0, -1)
    case '@query-param':
      return queryParameter(at < 0 ? '' : path.slice(at), parameter ?? '')
  }
  if (name.startsWith('@')) return undefined
  const value = headers[name]
  return value === undefined
    ? undefined
    : [value]
        .flat()
        .join(', ')
        .trim()
        .replaceAll(/\s*\n\s*/g, ' ')
}

/** The only value of a query parameter, encoded as RFC 9421 (2.2.8) asks for. */
function queryParameter(query: string, encodedName: string): string | undefined {
  const encode = (text: string) =>
    encodeURIComponent(text).replaceAll(
      /[!'()]/g,
      (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
    )
  const found = [...new URLSearchParams(query)].filter(([name]) => encode(name) === encodedName)
  const [only] = found
  return only && found.length === 1 ? encode(only[1]) : undefined
}

function textOf(headers: IncomingHttpHeaders, name: string): string {
  const value = headers[name]
  return [value ?? ''].flat().join(', ')
}
