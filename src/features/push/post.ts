import { reasonOf } from '../../core/errors.ts'
import type { Event } from '../../core/event.ts'
import { DAY } from '../../core/units.ts'
import { headOf } from '../../lib/head-of.ts'
import { isPrivateHost } from '../../lib/private-address.ts'
import { privateRefusal } from '../../lib/public-lookup.ts'
import type { SendResult } from './connection.ts'
import { createConnections } from './connections.ts'
import { exchangeOf } from './exchange.ts'
import { createTokens, type Tokens } from './oauth.ts'
import { createPace } from './pace.ts'
import type { PushSubscription } from './schema.ts'
import { createSigner, encodeEvent } from './wire.ts'

/** The outcome of a POST. */
export type Answer = {
  /** When the event was sent (Unix ms), if it waited for its turn in the rate limit. */
  sentAt?: number
  status?: number
  /** Why it failed; absent after a 2xx. */
  reason?: string
  /** The start of the body. */
  answer?: string
  /** End of the pause that the receiver asked for (Unix ms). */
  retryAt?: number
  /** Makes the request and answer for display. Holds the whole body of the answer. */
  exchange?: (() => ReturnType<typeof exchangeOf>) | undefined
}

/** Longest pause (ms) that a receiver can ask for. */
const LONGEST_PAUSE = DAY
/** Maximum characters of an answer that are kept. */
const SHOWN = 300
/** Headers that `headers` of a subscription cannot replace. */
const OWN_HEADERS = /^(content-type|user-agent|(webhook|ce)-.*)$/i

type PosterDeps = {
  /** Redacts secrets, and `more`, in a text. */
  clean(text: string, more?: readonly string[]): string
  now(): number
}

/**
 * Sends the events of one subscription over its own, persistent connections. Each connection uses
 * only an address that was checked after the name was resolved, so that no name can lead to a
 * private address.
 */
export function createPoster(subscription: PushSubscription, { clean, now }: PosterDeps) {
  const { allowPrivate, secret, format } = subscription
  const url = new URL(subscription.url)
  const path = url.pathname + url.search
  // The look-up checks names only: Node does not look up a literal address.
  const refused = !allowPrivate && isPrivateHost(url) ? privateRefusal(url.hostname) : undefined
  const configured = Object.entries(subscription.headers).filter(([name]) => !OWN_HEADERS.test(name))
  const fixed = ['user-agent', 'Trivium', ...configured.flat()]
  const sign = createSigner(secret)
  const connections = createConnections(subscription)
  const pace = createPace(subscription.rate)
  const tokens = subscription.oauth && createTokens(subscription, now)

  /** `own`: secrets of the request, which a receiver may repeat. */
  const answerOf = (result: SendResult, own: readonly string[]): Answer => {
    if (result instanceof Error) return { reason: reasonOf(result) || String(result) }
    const { status, headers, body } = result
    const answer = body.length === 0 ? '' : clean(headOf(Buffer.concat(body).toString(), SHOWN), own)
    if (status >= 200 && status < 300) return { status, answer }
    const reason = status < 400 ? clean(movedTo(status, headers.location), own) : `it answered ${status}`
    return { status, answer, reason, ...retryAtOf(headers['retry-after'], now()) }
  }

  const send = (event: Event, token: string | undefined, done: (answer: Answer) => void) => {
    const { headers, body } = encodeEvent(event, format)
    const authorization = token === undefined ? [] : ['authorization', `Bearer ${token}`]
    const all = fixed.concat(authorization, headers, sign(event.id, body, now()))
    const own = token === undefined ? [] : [token]
    connections.send({ path, method: 'POST', headers: all, body }, (result) => {
      const request = { url: subscription.url, headers: all, bytes: body.length }
      const exchange = () => exchangeOf(request, result, (text) => clean(text, own))
      done({ ...answerOf(result, own), exchange })
    })
  }

  const begin = (event: Event, done: (answer: Answer) => void) => {
    if (tokens)
      return void sendWithToken(tokens, (token, answered) => send(event, token, answered), clean).then(done)
    try {
      send(event, undefined, done)
    } catch (error) {
      done({ reason: reasonOf(error) })
    }
  }

  return {
    /**
     * Sends one event, at its turn in the rate limit. Always calls `done` once: at most `timeout`
     * ms to connect and `timeout` ms for the answer later, and earlier if the poster is closed.
     */
    post(event: Event, done: (answer: Answer) => void): void {
      if (refused) queueMicrotask(() => done({ reason: refused }))
      else if (subscription.rate === 'off') begin(event, done)
      else
        pace.pass(() => {
          const sentAt = now()
          begin(event, (answer) => done({ ...answer, sentAt }))
        })
    },
    close: () => {
      pace.close()
      return connections.close()
    },
  }
}

/**
 * Sends with an access token. If the receiver refuses it (401), sends once more with a new one.
 * Never rejects.
 */
async function sendWithToken(
  tokens: Tokens,
  send: (token: string, done: (answer: Answer) => void) => void,
  clean: PosterDeps['clean'],
): Promise<Answer> {
  const attempt = (token: string) => {
    const { promise, resolve } = Promise.withResolvers<Answer>()
    send(token, resolve)
    return promise
  }
  try {
    const token = await tokens.get()
    const answer = await attempt(token)
    if (answer.status !== 401) return answer
    tokens.forget(token)
    return await attempt(await tokens.get())
  } catch (error) {
    // It may contain an answer of the token endpoint.
    return { reason: clean(reasonOf(error)) }
  }
}

function movedTo(status: number, location: unknown): string {
  return `it answered ${status}${location ? ` to ${location}` : ''}; redirects are not followed; set \`url\` to the final address`
}

/** Parses `Retry-After`: seconds, or a date. Empty if it is missing or in the past. */
function retryAtOf(header: unknown, now: number): { retryAt?: number } {
  const text = String(header ?? '')
  const at = /^\d{1,9}$/.test(text) ? now + Number(text) * 1000 : Date.parse(text)
  return at > now ? { retryAt: Math.min(at, now + LONGEST_PAUSE) } : {}
}
