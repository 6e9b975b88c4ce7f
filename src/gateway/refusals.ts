import type { Refusal } from '../core/services.ts'
import type { Refused } from '../core/transport.ts'
import { withoutSecrets } from '../lib/secrets.ts'

/** How many refusals of a gateway are kept, and how many characters of what was sent. */
const KEPT = 50
const SHOWN = 500

/** The newest refusals of each gateway, in the memory of this daemon; each is counted too. */
export function createRefusals(options: {
  count(gateway: string, reason: string): void
  /** Texts that must not be shown. */
  secrets(): readonly string[]
  now(): number
}) {
  const newest = new Map<string, Refusal[]>()
  /** More than is shown is searched, so that no secret is cut in two. */
  const headOf = (body: string | Buffer) => {
    const begin = typeof body === 'string' ? body.slice(0, 4 * SHOWN) : body.toString('utf8', 0, 4 * SHOWN)
    return withoutSecrets(begin, options.secrets()).replaceAll(LIKELY_SECRET, '$1[secret]').slice(0, SHOWN)
  }
  return {
    add(gateway: string, reason: string, { body, ...who }: Refused = {}): void {
      options.count(gateway, reason)
      const shown = body === undefined ? {} : { body: headOf(body) }
      const one = { at: options.now(), gateway, reason, ...who, ...shown }
      newest.set(gateway, [one, ...(newest.get(gateway) ?? [])].slice(0, KEPT))
    },
    /** Newest first, of these gateways. */
    list: (gateways: readonly string[]): Refusal[] =>
      gateways.flatMap((name) => newest.get(name) ?? []).sort((a, b) => b.at - a.at),
  }
}

/** A value that JSON or a form calls a secret. */
const LIKELY_SECRET = /((?:token|secret|passw(?:or)?d|api[-_]?key)"?\s*[:=]\s*"?)[^"&\s,}]+/gi
