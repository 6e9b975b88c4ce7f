import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { TriviumError } from '../../src/core/errors.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { DAY } from '../../src/core/units.ts'
import { updateKv } from '../../src/core/update-kv.ts'
import { peerOf } from '../../src/lib/http.ts'
import { createSecretCheck } from '../../src/lib/secrets.ts'
import { listsOrigin, requireNoWebPage } from '../options.ts'
import type { WebsocketOptions } from './config.ts'
import { ISSUED, knownTokens, NAME } from './conversation-ids.ts'
import { createJwtCheck } from './jwt.ts'

/**
 * A client: the name of its token, if any, and its address. `expiresAt`: end of its JWT (Unix ms).
 */
export type Peer = { subject?: string; address: string; expiresAt?: number }

/** Maximum length of a foreign origin in an error. */
const MAX_SHOWN_ORIGIN = 200
/** Maximum number of offered subprotocols in which a token is looked for. */
const MAX_SUBPROTOCOLS = 8
/** Length of the random part of an id. */
const RANDOM_BYTES = 16
/** Length of the key that makes the MACs of ids. */
const KEY_BYTES = 32
/** Length of a MAC, in base64url characters. */
const MAC_LENGTH = 16

/**
 * Makes the authentication of upgrade requests. Rejects with `forbidden` for a foreign web page,
 * `signature_invalid` without a valid token, and `keys_unavailable` if an issuer's keys cannot be
 * fetched.
 */
export function createAuthenticator(options: WebsocketOptions, deps: TransportDeps) {
  const { gateway } = deps
  const checkToken = options.jwt
    ? createJwtCheck(options.jwt, deps)
    : options.tokens && createTokenCheck(options.tokens)
  return async (request: IncomingMessage, query: URLSearchParams): Promise<Peer> => {
    const isListed = checkOrigin(request, options.origins)
    if (!checkToken && !isListed) requireNoWebPage(request, deps.http.isLocal, 'tokens')
    const address = peerOf(request)
    if (!checkToken) return { address }
    let reason = TOKEN_MISSING
    for (const token of givenTokens(request, query)) {
      const holderOrReason = await checkToken(token)
      if (typeof holderOrReason !== 'string') return { ...holderOrReason, address }
      // A subprotocol may be a name instead of a token. Of several reasons, keep that of a text
      // with a dot, which may be a JWT.
      if (reason === TOKEN_MISSING || token.includes('.')) reason = holderOrReason
    }
    throw new TriviumError('signature_invalid', { gateway, reason })
  }
}

const TOKEN_MISSING = 'a token is missing'

/** Makes a check that returns the holder of a listed token, or the reason of the refusal. */
function createTokenCheck(tokens: NonNullable<WebsocketOptions['tokens']>) {
  const known = knownTokens(tokens)
  const indexOf = createSecretCheck(known.map(({ token }) => token))
  return (token: string): { subject: string } | string => {
    const match = known[indexOf(token)]
    return match ? { subject: match.subject } : 'the token is not known'
  }
}

function givenTokens(request: IncomingMessage, query: URLSearchParams): string[] {
  const [, bearer] = /^bearer +(\S+) *$/i.exec(request.headers.authorization ?? '') ?? []
  // As programs send it for `wss://name:TOKEN@host`.
  const [, basic = ''] = /^basic +([\w+/=-]+) *$/i.exec(request.headers.authorization ?? '') ?? []
  const [, password] = /^[^:]*:(.*)$/s.exec(Buffer.from(basic, 'base64').toString()) ?? []
  // Browsers can only set subprotocols, so a token may be passed there as `bearer.TOKEN`.
  const offered = request.headers['sec-websocket-protocol']?.split(',', MAX_SUBPROTOCOLS) ?? []
  const tokens = offered.map((name) => name.trim().replace(/^bearer\./, ''))
  return [bearer, password, query.get('token'), ...tokens].flatMap((token) => token || [])
}

/**
 * Checks `Origin`, which browsers always send. Returns whether the options list the page. Throws
 * `forbidden` for a page of another host that is not listed.
 */
function checkOrigin(request: IncomingMessage, allowed: string[]): boolean {
  const { origin, host } = request.headers
  if (origin !== undefined && listsOrigin(allowed, origin)) return true
  if (origin === undefined || (URL.canParse(origin) && new URL(origin).host === host)) return false
  const reason = 'add it to `origins` of the gateway, if you trust it'
  throw new TriviumError('forbidden', { what: `The web page ${origin.slice(0, MAX_SHOWN_ORIGIN)}`, reason })
}

/**
 * The conversation of a client: a new one, or the requested one. A client can request an id that it
 * got from us or, with a token, a name that it chose. Our ids are 128 random bits with a MAC of the
 * subject by the gateway's key, so no client can guess or forge them, and no other subject can use
 * them. Without tokens and JWTs there is no subject, and any client that knows an id can use it.
 * They are valid on all daemons of the store. Throws `forbidden` and `store_unavailable`.
 */
export async function conversationFor(
  { subject, expiresAt }: Pick<Peer, 'subject' | 'expiresAt'>,
  requested: string | null,
  { kv, gateway }: TransportDeps,
): Promise<string> {
  const macOf = await createMac({ kv, gateway })
  const prefix = `${gateway}:${subject}:`
  // Only JWTs expire. `requireConversation` cannot list their subjects as it can those of tokens,
  // so it needs a record of their conversations.
  const isOfJwt = expiresAt !== undefined
  const recordExistence = (conversation: string) =>
    kv.set(existenceKey(gateway, conversation), true, { ttl: EXISTENCE_TTL_MS })
  if (!requested) {
    const random = randomBytes(RANDOM_BYTES).toString('base64url')
    const conversation = `${random}.${macOf(subject, random)}`
    if (isOfJwt) await recordExistence(conversation)
    return conversation
  }
  const [, random, mac = ''] = ISSUED.exec(requested) ?? []
  if (random !== undefined) {
    if (timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(subject, random)))) {
      if (isOfJwt) await recordExistence(requested)
      return requested
    }
  } else if (subject !== undefined) {
    const name = requested.startsWith(prefix) ? requested.slice(prefix.length) : requested
    if (NAME.test(name)) {
      await recordExistence(prefix + name)
      return prefix + name
    }
  }
  const reason = 'it is not yours; connect without one, and resume with the id in the welcome frame'
  throw new TriviumError('forbidden', { what: 'This conversation', reason })
}

/** How long (ms) a conversation exists after its last connection: 90 days. */
const EXISTENCE_TTL_MS = 90 * DAY

function existenceKey(gateway: string, conversation: string): string {
  return `websocket:${gateway}:conversation:${conversation}`
}

type GatewayStore = Pick<TransportDeps, 'kv' | 'gateway'>

/** Makes the MAC function for an id of a subject. */
async function createMac({
  kv,
  gateway,
}: GatewayStore): Promise<(subject: string | undefined, random: string) => string> {
  // The first daemon that needs the key creates it.
  const key = await updateKv(kv, `websocket:${gateway}:conversation-key`, (current) =>
    current === undefined ? { value: randomBytes(KEY_BYTES).toString('base64') } : undefined,
  )
  return (subject, random) =>
    createHmac('sha256', Buffer.from(String(key), 'base64'))
      .update(JSON.stringify([subject ?? '', random]))
      .digest('base64url')
      .slice(0, MAC_LENGTH)
}

/** Throws `conversation_not_found` for a conversation that never had a client. */
export async function requireConversation(
  conversation: string,
  tokens: WebsocketOptions['tokens'],
  deps: GatewayStore & Pick<TransportDeps, 'replies'>,
): Promise<void> {
  const [, random, mac] = ISSUED.exec(conversation) ?? []
  if (random !== undefined) {
    const macOf = await createMac(deps)
    const subjects = [undefined, ...(tokens ? knownTokens(tokens).map(({ subject }) => subject) : [])]
    if (subjects.some((subject) => macOf(subject, random) === mac)) return
  }
  if (await deps.kv.get(existenceKey(deps.gateway, conversation))) return
  // A conversation of an earlier version, or of a removed token.
  if ((await deps.replies.end(conversation)) > 0) return
  throw new TriviumError('conversation_not_found', { gateway: deps.gateway, conversation })
}
