import type { IncomingMessage } from 'node:http'
import { TriviumError } from '../src/core/errors.ts'
import type { Check, PublicHttp } from '../src/core/transport.ts'
import { isLocalName, isLoopback } from '../src/lib/http.ts'

/**
 * What lets in whoever comes is for this machine where only that reaches it, and for no web page that is open here: one
 * may post anywhere, and point its own name at 127.0.0.1 (DNS rebinding), but its requests say whose they are. Throws
 * `forbidden`; `option` is what would prove who comes.
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

/** For `doctor`, and for a warning at the start: what a gateway means that lets in whoever comes, as without `proof`. */
export function checkDoor({ isLocal }: PublicHttp, name: string, proof: string | undefined): Check {
  if (proof !== undefined) return { name, ok: true, detail: proof }
  const open = `whoever reaches the listener can send; set \`${name}\``
  if (isLocal) return { name, ok: true, detail: `none: ${open}` }
  return { name, ok: true, warning: true, detail: `none, and not only this machine reaches it: ${open}` }
}
