import { withoutSecrets } from '../lib/secrets.ts'

/** The headers of a request, as Node has them. */
export type Headers = Readonly<Record<string, string | string[] | undefined>>

/** Maximum characters of a value that are shown. */
const MAX_VALUE = 300

/**
 * The headers of a refused delivery, without credentials. Of headers that may contain any, such as
 * signatures, the form stays, so that the scheme and the signed time can be read:
 * `t=1764450000,v1=[64 characters]`. `secretHeader`: the header that has the credentials, whatever
 * its name.
 */
export function shownHeaders(
  headers: Headers,
  secrets: readonly string[],
  secretHeader?: string,
): Record<string, string> {
  const shown = Object.entries(headers).flatMap(([name, value]) => {
    if (value === undefined) return []
    const text = withoutSecrets([value].flat().join(', '), secrets)
    return [[name, redacted(name, text, name === secretHeader).slice(0, MAX_VALUE)]]
  })
  return Object.fromEntries(shown)
}

function redacted(name: string, value: string, isSecret: boolean): string {
  if (SIGNATURES.test(name)) return value.replaceAll(PART, withoutSignature)
  if (isSecret || CREDENTIALS.test(name)) return withoutCredentials(value)
  return PLAIN.test(name) ? value : hidden(value)
}

/** Of a part of a signature header, its label stays, and a time or a version. */
function withoutSignature(part: string): string {
  const [, label = '', value = part] = /^([\w-]{1,20}=)?([^=].*)$/s.exec(part) ?? []
  return label + (/^(?:\d{9,13}|v\d)$/.test(value) ? value : hidden(value))
}

/** The scheme of credentials, such as `Bearer`, stays. */
function withoutCredentials(value: string): string {
  const [, scheme = '', rest = value] =
    /^((?:bearer|basic|digest|signature|token) )?(.*)$/is.exec(value) ?? []
  return scheme + hidden(rest)
}

function hidden(text: string): string {
  return `[${text.length} character${text.length === 1 ? '' : 's'}]`
}

const SIGNATURES = /sign|hmac|digest|sha\d/i
const CREDENTIALS = /auth|cookie|token|secret|key|passw|pwd|credential|session|jwt|assertion/i
/** The parts of a signature header, as in `t=1764450000,v1=…`. */
const PART = /[^\s,;]+/g
/** Headers that contain no credentials. Providers have their own: `x-github-event`. */
const PLAIN =
  /^(?:host|date|via|connection|user-agent|accept(?:-.*)?|content-(?:type|length|encoding|language)|transfer-encoding|forwarded|x-forwarded-(?:for|host|port|proto)|x-real-ip|cf-ray|cf-connecting-ip|traceparent|.*-(?:event|topic|type|id|delivery|timestamp|time|version|domain|resource|attempt|retry|retry-num|retry-reason))$/i
