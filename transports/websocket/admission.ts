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

/** Who is at the other end: the name of the token, or nobody in particular without tokens. A JWT is valid `until` (Unix ms). */
export type Peer = { subject?: string; address: string; until?: number }

/**
 * Tells who asks for an upgrade. Rejects with `forbidden` for a foreign web page, `signature_invalid` without a valid token,
 * `keys_unavailable` where the keys of an issuer cannot be fetched.
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
      // Among subprotocols may be names that are no tokens.
      if (reason === MISSING || token.includes('.')) reason = found
    }
    throw new TriviumError('signature_invalid', { gateway, reason })
  }
}

const MISSING = 'a token is missing'

/** Who has a token of the list, else why nobody has it. */
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
  // A browser can set no other header than the subprotocols, among which a token is `bearer.TOKEN`.
  const offered = request.headers['sec-websocket-protocol']?.split(',', 8) ?? []
  const tokens = offered.map((name) => name.trim().replace(/^bearer\./, ''))
  return [bearer, query.get('token'), ...tokens].flatMap((token) => token || [])
}

/** Only browsers send `Origin`, and always; tokens hold other programs. Returns whether the options name the page. */
function checkOrigin(request: IncomingMessage, allowed: string[]): boolean {
  const { origin, host } = request.headers
  if (origin !== undefined && (allowed.includes('*') || allowed.includes(origin))) return true
  if (origin === undefined || (URL.canParse(origin) && new URL(origin).host === host)) return false
  const reason = 'add it to `origins` of the gateway, if you trust it'
  throw new TriviumError('forbidden', { what: `The web page ${origin.slice(0, 200)}`, reason })
}

/**
 * The conversation that a client asks for: an id of ours or, with a token, a name of its own; else a new one. An id of ours is 128 random
 * bits and a proof, by the key of the gateway, that we made them for this subject: nobody else can guess, make up or use it. Every
 * daemon on the store knows it. Throws `forbidden` and `store_unavailable`.
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
    // Nobody lists the subjects of JWTs, so it cannot be proven later that there was this one.
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

/** How long (ms) the name of a conversation counts as one that exists, after a client was last in it. */
const REMEMBERED = 90 * 86_400_000

function markOf(gateway: string, conversation: string): string {
  return `websocket:${gateway}:conversation:${conversation}`
}

type Keys = Pick<TransportDeps, 'kv' | 'gateway'>

/** Makes what proves that a random id was given to a subject. */
async function createProof({
  kv,
  gateway,
}: Keys): Promise<(subject: string | undefined, random: string) => string> {
  // Made by whichever daemon needs it first.
  const key = await updateKv(kv, `websocket:${gateway}:conversation-key`, (known) =>
    known === undefined ? { value: randomBytes(32).toString('base64') } : undefined,
  )
  return (subject, random) =>
    createHmac('sha256', Buffer.from(String(key), 'base64'))
      .update(JSON.stringify([subject ?? '', random]))
      .digest('base64url')
      .slice(0, 16)
}

/** Throws `conversation_not_found` for one that no client was ever in: what is sent there would reach nobody. */
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
  // One of an earlier version, or of a token that is gone.
  if ((await deps.replies.end(conversation)) > 0) return
  throw new TriviumError('conversation_not_found', { gateway: deps.gateway, conversation })
}
