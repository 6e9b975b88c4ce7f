import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { TriviumError } from '../../src/core/errors.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { updateKv } from '../../src/core/update-kv.ts'
import { peerOf } from '../../src/lib/http.ts'
import { createSecretCheck } from '../../src/lib/secrets.ts'
import { refuseForeign } from '../options.ts'
import type { WebsocketOptions } from './config.ts'
import { ISSUED, knownTokens, NAME } from './conversation-ids.ts'
import { createJwtCheck } from './jwt.ts'

/** The client: the name of its token, if any, and its address. `until`: end of its JWT (Unix ms). */
export type Peer = { subject?: string; address: string; until?: number }

/**
 * Authenticates an upgrade request. Rejects with `forbidden` for a foreign web page, `signature_invalid` without a valid token, and
 * `keys_unavailable` if an issuer's keys cannot be fetched.
 */
export function createAuthenticator(options: WebsocketOptions, deps: TransportDeps) {
  const { gateway } = deps
  const find = options.jwt
    ? createJwtCheck(options.jwt, deps)
    : options.tokens && createTokenCheck(options.tokens)
  return async (request: IncomingMessage, query: URLSearchParams): Promise<Peer> => {
    const isListed = checkOrigin(request, options.origins)
    if (!find && !isListed) refuseForeign(request, deps.http.isLocal, 'tokens')
    const address = peerOf(request)
    if (!find) return { address }
    let reason = MISSING
    for (const token of givenTokens(request, query)) {
      const found = await find(token)
      if (typeof found !== 'string') return { ...found, address }
      // Subprotocols may include names that are not tokens.
      if (reason === MISSING || token.includes('.')) reason = found
    }
    throw new TriviumError('signature_invalid', { gateway, reason })
  }
}

const MISSING = 'a token is missing'

/** Makes a check that returns the holder of a listed token, or the reason of the refusal. */
function createTokenCheck(tokens: NonNullable<WebsocketOptions['tokens']>) {
  const known = knownTokens(tokens)
  const indexOf = createSecretCheck(known.map(({ token }) => token))
  return (token: string): { subject: string } | string => {
    const found = known[indexOf(token)]
    return found ? { subject: found.subject } : 'the token is not known'
  }
}

function givenTokens(request: IncomingMessage, query: URLSearchParams): string[] {
  const [, bearer] = /^bearer +(\S+) *$/i.exec(request.headers.authorization ?? '') ?? []
  // Browsers can only set subprotocols, so a token may be passed there as `bearer.TOKEN`.
  const offered = request.headers['sec-websocket-protocol']?.split(',', 8) ?? []
  const tokens = offered.map((name) => name.trim().replace(/^bearer\./, ''))
  return [bearer, query.get('token'), ...tokens].flatMap((token) => token || [])
}

/** Checks `Origin`, which browsers always send; other programs need tokens. Returns whether the options list the page. */
function checkOrigin(request: IncomingMessage, allowed: string[]): boolean {
  const { origin, host } = request.headers
  if (origin !== undefined && (allowed.includes('*') || allowed.includes(origin))) return true
  if (origin === undefined || (URL.canParse(origin) && new URL(origin).host === host)) return false
  const reason = 'add it to `origins` of the gateway, if you trust it'
  throw new TriviumError('forbidden', { what: `The web page ${origin.slice(0, 200)}`, reason })
}

/**
 * The requested conversation: one of our ids or, with a token, a name chosen by the client; else a new one. Our ids are 128 random bits
 * with a MAC (by the gateway's key) for the subject, so that nobody else can guess, forge or use them. Valid on every daemon of
 * the store. Throws `forbidden` and `store_unavailable`.
 */
export async function conversationFor(
  { subject, until }: Pick<Peer, 'subject' | 'until'>,
  wanted: string | null,
  { kv, gateway }: TransportDeps,
): Promise<string> {
  const prove = await createProof({ kv, gateway })
  const own = `${gateway}:${subject}:`
  if (!wanted) {
    const random = randomBytes(16).toString('base64url')
    const conversation = `${random}.${prove(subject, random)}`
    // Subjects of JWTs are not listed anywhere, so the existence of the conversation is recorded.
    if (until !== undefined) await kv.set(markOf(gateway, conversation), true, { ttl: REMEMBERED })
    return conversation
  }
  const [, random, proof = ''] = ISSUED.exec(wanted) ?? []
  if (random !== undefined) {
    if (timingSafeEqual(Buffer.from(proof), Buffer.from(prove(subject, random)))) return wanted
  } else if (subject !== undefined) {
    const name = wanted.startsWith(own) ? wanted.slice(own.length) : wanted
    if (NAME.test(name)) {
      await kv.set(markOf(gateway, own + name), true, { ttl: REMEMBERED })
      return own + name
    }
  }
  const reason = 'it is not yours; connect without one, and resume with the id in the welcome frame'
  throw new TriviumError('forbidden', { what: 'This conversation', reason })
}

/** How long (ms) a named conversation counts as existing after its last connection. */
const REMEMBERED = 90 * 86_400_000

function markOf(gateway: string, conversation: string): string {
  return `websocket:${gateway}:conversation:${conversation}`
}

type Keys = Pick<TransportDeps, 'kv' | 'gateway'>

/** Makes the MAC function for ids and subjects. */
async function createProof({
  kv,
  gateway,
}: Keys): Promise<(subject: string | undefined, random: string) => string> {
  // Created by the first daemon that needs it.
  const key = await updateKv(kv, `websocket:${gateway}:conversation-key`, (known) =>
    known === undefined ? { value: randomBytes(32).toString('base64') } : undefined,
  )
  return (subject, random) =>
    createHmac('sha256', Buffer.from(String(key), 'base64'))
      .update(JSON.stringify([subject ?? '', random]))
      .digest('base64url')
      .slice(0, 16)
}

/** Throws `conversation_not_found` for a conversation that never had a client. */
export async function requireConversation(
  conversation: string,
  tokens: WebsocketOptions['tokens'],
  deps: Keys & Pick<TransportDeps, 'replies'>,
): Promise<void> {
  const [, random, proof] = ISSUED.exec(conversation) ?? []
  if (random !== undefined) {
    const prove = await createProof(deps)
    const subjects = [undefined, ...(tokens ? knownTokens(tokens).map((one) => one.subject) : [])]
    if (subjects.some((subject) => prove(subject, random) === proof)) return
  }
  if (await deps.kv.get(markOf(deps.gateway, conversation))) return
  // From an earlier version, or of a removed token.
  if ((await deps.replies.end(conversation)) > 0) return
  throw new TriviumError('conversation_not_found', { gateway: deps.gateway, conversation })
}
