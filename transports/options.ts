import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import { TriviumError } from '../src/core/errors.ts'
import type { Check, PublicHttp } from '../src/core/transport.ts'
import { size } from '../src/core/units.ts'
import { isLocalName, isLoopback } from '../src/lib/http.ts'

/** A path on the public listener, in the options of a gateway. */
export const publicPath = z
  .string()
  .regex(/^\/[^\s?#]*$/, 'expected a path that starts with /, without ? and #')

/** How large what comes in may be that goes whole through the store, the routes and the skills. GitHub sends no more either. */
export const bodySize = size.refine(
  (bytes) => bytes <= 25 * 1024 * 1024,
  'expected at most 25mb: it goes whole through the store, routes and skills; let senders link to what is larger',
)

/** One secret, or a list of them while they are rotated; parses to a list. `what` is said where there is none. */
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
 * What lets in whoever comes is for this machine where only that reaches it, and for no web page that is open here, which could point
 * its name at 127.0.0.1 (DNS rebinding), but says whose it is. Throws `forbidden`; `option` would prove who comes.
 */
export function refuseForeign({ headers }: IncomingMessage, isLocal: boolean, option: string): void {
  if (!isLocal) return
  const { host, origin } = headers
  const page = origin !== undefined && URL.canParse(origin) ? new URL(origin) : undefined
  const isOwn = origin === undefined || page?.host === host || isLoopback(page?.hostname ?? '')
  if (isOwn && isLocalName(host)) return
  const what = `What comes from the web page ${(origin ?? String(host)).slice(0, 200)}`
  throw new TriviumError('forbidden', { what, reason: `set \`${option}\` on the gateway to let others in` })
}

/** For `doctor`: a gateway without `proof` of its senders is a warning, also behind a local address, where a proxy or tunnel may stand. */
export function checkDoor({ isLocal }: PublicHttp, name: string, proof: string | undefined): Check {
  if (proof !== undefined) return { name, ok: true, detail: proof }
  const reach = isLocal
    ? 'every program on this machine, and everyone behind a proxy or tunnel to it, can send'
    : 'everyone who reaches the listener can send'
  return { name, ok: true, warning: true, detail: `senders are not verified: ${reach}; set \`${name}\`` }
}
