import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import { TriviumError } from '../src/core/errors.ts'
import type { Check, PublicHttp } from '../src/core/transport.ts'
import { MIB, size } from '../src/core/units.ts'
import { isLocalName, isLoopback } from '../src/lib/http.ts'

/** Option: a path on the public listener. */
export const publicPath = z
  .string()
  .regex(/^\/[^\s?#]*$/, 'expected a path that starts with /, without ? and #')

/** The largest value of an option for the size of a body. GitHub has the same limit. */
const MAX_BODY_BYTES = 25 * MIB
/** Maximum characters of an origin in an error. */
const MAX_ORIGIN = 200

/** Option: maximum size of a message, which passes as a whole through store, routes and skills. */
export const bodySize = size.refine(
  (bytes) => bytes <= MAX_BODY_BYTES,
  'expected at most 25mb, because a message passes as a whole through the store, routes and skills; let senders link to larger content',
)

/**
 * Option: one secret, or a list during a rotation. Always parses to a list. `what` describes the
 * secret in the error about a missing one.
 */
export function secretsOf(what?: string) {
  return (
    z
      // `abort`: otherwise, `superRefine` of the whole object would get a secret that is not a
      // list.
      .union([z.string().min(1, { abort: true }), z.array(z.string().min(1, { abort: true })).min(1)], {
        error: ({ input }) =>
          input !== undefined
            ? 'expected a text, or a list of them'
            : what && `missing key "secret": ${what}`,
      })
      .transform((value) => (typeof value === 'string' ? [value] : value))
  )
}

export const secrets = secretsOf()

/**
 * Whether an origin is in a list of the option `origins`. Browsers send origins in lower case,
 * without a slash at the end.
 */
export function listsOrigin(listed: readonly string[], origin: string): boolean {
  return listed.some((one) => one === '*' || one === origin || withoutSlash(one).toLowerCase() === origin)
}

const withoutSlash = (origin: string) => origin.replace(/\/$/, '')

/**
 * Throws `forbidden` if a web page sent the request. For gateways without authentication on a
 * loopback listener (`isLocal`): they serve programs on this machine, but not the web pages that
 * are open in its browser. Host and origin reveal a web page, also one that uses DNS rebinding.
 * `option`: the option that enables authentication, for the error.
 */
export function requireNoWebPage({ headers }: IncomingMessage, isLocal: boolean, option: string): void {
  if (!isLocal) return
  const { host, origin, 'sec-fetch-site': site } = headers
  const page = origin !== undefined && URL.canParse(origin) ? new URL(origin) : undefined
  const isSameOrigin = origin === undefined || page?.host === host || isLoopback(page?.hostname ?? '')
  // Requests for pictures and links have no origin, but `sec-fetch-site`.
  const isFromPage = origin === undefined && (site === 'cross-site' || site === 'same-site')
  if (isSameOrigin && !isFromPage && isLocalName(host)) return
  const what = `A request from the web page ${(origin ?? String(host)).slice(0, MAX_ORIGIN)}`
  throw new TriviumError('forbidden', { what, reason: `set \`${option}\` on the gateway to let others in` })
}

/**
 * For `doctor`: warns about a gateway without authentication. Also on a local address, because a
 * proxy or tunnel may expose it. `name`: the option that enables authentication. `verified`: how
 * senders are verified; undefined if they are not.
 */
export function checkProtection({ isLocal }: PublicHttp, name: string, verified: string | undefined): Check {
  if (verified !== undefined) return { name, ok: true, detail: verified }
  const exposure = isLocal
    ? 'every program on this machine, and everyone behind a proxy or tunnel to it, can send'
    : 'everyone who reaches the listener can send'
  return { name, ok: true, warning: true, detail: `senders are not verified: ${exposure}; set \`${name}\`` }
}
