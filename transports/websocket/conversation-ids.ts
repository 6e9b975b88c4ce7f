import { hash } from 'node:crypto'
import type { WebsocketOptions } from './config.ts'

/** An id from a welcome frame: 128 random bits and 96 bits of its MAC. */
export const ISSUED = /^([\w-]{22})\.([\w-]{16})$/
/** A conversation name chosen by a client with a token or JWT. */
export const NAME = /^[\w-]{1,64}$/

/** Maximum number of clients that an error lists. */
const MAX_LISTED_CLIENTS = 5

/** The tokens with the names of their clients. A token of a list has a name made of its hash. */
export function knownTokens(
  tokens: NonNullable<WebsocketOptions['tokens']>,
): { subject: string; token: string }[] {
  return Array.isArray(tokens)
    ? tokens.map((token) => ({ subject: `token-${hash('sha256', token).slice(0, 8)}`, token }))
    : Object.entries(tokens).flatMap(([subject, secrets]) => secrets.map((token) => ({ subject, token })))
}

/**
 * Why a conversation cannot exist; undefined if it may. Valid are ids from welcome frames and, with
 * tokens or JWTs, `<gateway>:<client>:<name>`.
 */
export function targetFault(
  to: string,
  gateway: string,
  { tokens, jwt }: Pick<WebsocketOptions, 'tokens' | 'jwt'>,
): string | undefined {
  if (ISSUED.test(to)) return undefined
  if (!tokens && !jwt) return `expected the id of a welcome frame: clients of ${gateway} have no names`
  const [, client, name = ''] = new RegExp(`^${RegExp.escape(gateway)}:(.+):([^:]*)$`, 's').exec(to) ?? []
  // `tokens` and `jwt` exclude each other; the names of JWT clients are not known.
  const clients = tokens && knownTokens(tokens).map(({ subject }) => subject)
  if (client !== undefined && NAME.test(name) && (clients?.includes(client) ?? true)) return undefined
  return `expected a conversation such as ${gateway}:${clients?.[0] ?? 'CLIENT'}:main${listOf(clients)}`
}

function listOf(clients: readonly string[] | undefined): string {
  if (!clients) return ''
  const listed = clients.slice(0, MAX_LISTED_CLIENTS).join(', ')
  return ` (clients: ${listed}${clients.length > MAX_LISTED_CLIENTS ? ', …' : ''})`
}
