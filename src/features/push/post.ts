import type { IncomingHttpHeaders } from 'node:http'
import { reasonOf } from '../../core/errors.ts'
import type { Event } from '../../core/event.ts'
import { isPrivateHost, type PushSubscription } from '../../core/push.ts'
import { headOf } from '../../lib/head-of.ts'
import { privateRefusal } from '../../lib/public-lookup.ts'
import { createConnections } from './connections.ts'
import { createTokens, type Tokens } from './oauth.ts'
import { createPace } from './pace.ts'
import { createSigner, packed } from './wire.ts'

/** What came of one POST: `reason` where it failed, the head of what was answered, and from when (Unix ms) it may come again. */
export type Answer = { status?: number; reason?: string; answer?: string; retryAt?: number }

/** What is shown of an answer (characters). */
const SHOWN = 300
const OURS = /^(content-type|user-agent|(webhook|ce)-.*)$/i

/**
 * Sends the events of one subscription over connections of its own, which are kept. Each connection is made to an address
 * that was looked at after the name was resolved, so that no name leads to a private one, and to no other.
 */
export function createPoster(subscription: PushSubscription, now: () => number) {
  const { allowPrivate, timeout, secret, format } = subscription
  const url = new URL(subscription.url)
  const path = url.pathname + url.search
  // Node looks up no name that is an address.
  const refused = !allowPrivate && isPrivateHost(url) ? privateRefusal(url.hostname) : undefined
  const theirs = Object.entries(subscription.headers).filter(([name]) => !OURS.test(name))
  const fixed = ['user-agent', 'Trivium', ...theirs.flat()]
  const signed = createSigner(secret)
  const connections = createConnections(subscription)
  const pace = createPace(subscription.rate)
  const tokens = subscription.oauth && createTokens(subscription, now)

  const answered = (status: number, headers: IncomingHttpHeaders, body: Buffer[]): Answer => {
    const answer = body.length === 0 ? '' : headOf(Buffer.concat(body).toString(), SHOWN)
    if (status >= 200 && status < 300) return { status, answer }
    const reason = status < 400 ? movedTo(status, headers.location) : `it answered ${status}`
    return { status, answer, reason, ...retryAtOf(headers['retry-after'], now()) }
  }

  const send = (event: Event, token: string | undefined, done: (answer: Answer) => void) => {
    const { headers, body } = packed(event, format)
    const authorization = token === undefined ? [] : ['authorization', `Bearer ${token}`]
    const all = [...fixed, ...authorization, ...headers, ...signed(event.id, body, now())]
    const chunks: Buffer[] = []
    let timer: NodeJS.Timeout | undefined
    let head: { status: number; headers: IncomingHttpHeaders } | undefined
    connections.take((client) => {
      const end = (error?: Error) => {
        clearTimeout(timer)
        connections.giveBack(client)
        // How the answer ends is no matter: the status has been said.
        if (head) done(answered(head.status, head.headers, chunks))
        else done({ reason: reasonOf(error) || String(error) })
      }
      client.dispatch(
        { path, method: 'POST', headers: all, body },
        {
          onRequestStart(request) {
            // `AbortSignal.timeout` costs more than the rest of the request.
            timer = setTimeout(() => request.abort(new Error(`no answer within ${timeout} ms`)), timeout)
          },
          onResponseStart(_, status, headers) {
            head = { status, headers }
          },
          onResponseData: (_, chunk) => void chunks.push(chunk),
          onResponseEnd: () => end(),
          onResponseError: (_, error) => end(error),
        },
      )
    })
  }

  const begin = (event: Event, done: (answer: Answer) => void) => {
    if (tokens) return void sendWithToken(tokens, (token, told) => send(event, token, told)).then(done)
    try {
      send(event, undefined, done)
    } catch (error) {
      done({ reason: reasonOf(error) })
    }
  }

  return {
    /** Sends one event. Answers always; takes `timeout` ms at most, and as long to connect; less where the poster is closed. */
    post(event: Event, done: (answer: Answer) => void): void {
      if (refused) queueMicrotask(() => done({ reason: refused }))
      else pace.pass(() => begin(event, done))
    },
    close: () => {
      pace.close()
      return connections.close()
    },
  }
}

/** A token that the receiver refuses (401) is replaced once. */
async function sendWithToken(
  tokens: Tokens,
  send: (token: string, done: (answer: Answer) => void) => void,
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
    return { reason: reasonOf(error) }
  }
}

function movedTo(status: number, location: unknown): string {
  return `it answered ${status}${location ? ` to ${location}` : ''}; redirects are not followed, put the final address into \`url\``
}

/** Longer than this nobody is waited for. */
const LONGEST_WAIT = 86_400_000

/** `Retry-After`: seconds, or a date. */
function retryAtOf(header: unknown, now: number): { retryAt?: number } {
  const text = String(header ?? '')
  const at = /^\d{1,9}$/.test(text) ? now + Number(text) * 1000 : Date.parse(text)
  return at > now ? { retryAt: Math.min(at, now + LONGEST_WAIT) } : {}
}
