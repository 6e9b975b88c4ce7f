import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import { TriviumError } from '../src/core/errors.ts'
import type { Check, PublicHttp } from '../src/core/transport.ts'
import { size } from '../src/core/units.ts'
import { isLocalName, isLoopback } from '../src/lib/http.ts'

/** Option: a path on the public listener. */
export const publicPath = z
  .string()
  .regex(/^\/[^\s?#]*$/, 'expected a path that starts with /, without ? and #')

/** Option: maximum size of a message, which passes as a whole through store, routes and skills. Also GitHub's limit. */
export const bodySize = size.refine(
  (bytes) => bytes <= 25 * 1024 * 1024,
  'expected at most 25mb, because a message passes as a whole through the store, routes and skills; let senders link to larger content',
)

/** Option: one secret, or a list during rotation; parses to a list. `what`: error text if missing. */
export function secretsOf(what?: string) {
  return z
    .union([z.string().min(1), z.array(z.string().min(1)).min(1)], {
      error: ({ input }) =>
        input !== undefined ? 'expected a text, or a list of them' : what && `missing key "secret": ${what}`,
    })
    .transform((value) => (typeof value === 'string' ? [value] : value))
}

export const secrets = secretsOf()

/**
 * Protects gateways without authentication. On a loopback listener they are for this machine, but not for web pages open here, which could
 * use DNS rebinding; such requests are recognised by their host and origin. Throws `forbidden`; `option` enables authentication.
 */
export function refuseForeign({ headers }: IncomingMessage, isLocal: boolean, option: string): void {
  if (!isLocal) return
  const { host, origin } = headers
  const page = origin !== undefined && URL.canParse(origin) ? new URL(origin) : undefined
  const isOwn = origin === undefined || page?.host === host || isLoopback(page?.hostname ?? '')
  if (isOwn && isLocalName(host)) return
  const what = `A request from the web page ${(origin ?? String(host)).slice(0, 200)}`
  throw new TriviumError('forbidden', { what, reason: `set \`${option}\` on the gateway to let others in` })
}

/** For `doctor`: warns about a gateway without authentication, also on a local address, which a proxy or tunnel may expose. */
export function checkDoor({ isLocal }: PublicHttp, name: string, proof: string | undefined): Check {
  if (proof !== undefined) return { name, ok: true, detail: proof }
  const reach = isLocal
    ? 'every program on this machine, and everyone behind a proxy or tunnel to it, can send'
    : 'everyone who reaches the listener can send'
  return { name, ok: true, warning: true, detail: `senders are not verified: ${reach}; set \`${name}\`` }
}
