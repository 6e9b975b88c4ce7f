import type { IncomingHttpHeaders } from 'node:http'
import { Client } from 'undici'
import { reasonOf } from '../../core/errors.ts'
import type { Event } from '../../core/event.ts'
import { isPrivateHost, type PushSubscription } from '../../core/push.ts'
import { headOf } from '../../lib/head-of.ts'
import { privateRefusal, publicLookup } from '../../lib/public-lookup.ts'
import { createSigner, packed } from './wire.ts'

/** What came of one POST: `reason` where it failed, the head of what was answered, and from when (Unix ms) it may come again. */
export type Answer = { status?: number; reason?: string; answer?: string; retryAt?: number }

/** What is read of an answer (bytes), and shown of it (characters). */
const MAX_ANSWER = 65_536
const SHOWN = 300
const OURS = /^(content-type|user-agent|(webhook|ce)-.*)$/i

/**
 * Sends the events of one subscription over connections of its own, which are kept. Each connection is made to an address
 * that was looked at after the name was resolved, so that no name leads to a private one, and to no other.
 */
export function createPoster(subscription: PushSubscription, now: () => number) {
  const { allowPrivate, concurrency, timeout, secret, format } = subscription
  const url = new URL(subscription.url)
  const path = url.pathname + url.search
  // Node looks up no name that is an address.
  const refused = !allowPrivate && isPrivateHost(url) ? privateRefusal(url.hostname) : undefined
  const theirs = Object.entries(subscription.headers).filter(([name]) => !OURS.test(name))
  const fixed = ['user-agent', 'Trivium', ...theirs.flat()]
  const signed = createSigner(secret)
  const settings: Client.Options = {
    allowH2: false,
    maxResponseSize: MAX_ANSWER,
    // Each request has a timer of its own.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout, ...(allowPrivate ? {} : { lookup: publicLookup }) },
  }
  /** One a connection, made at its first event: a pool of undici costs more than to say here which is free. */
  const clients = Array.from({ length: concurrency }, () => new Client(url.origin, settings))
  const free = [...clients]
  const waiting: ((client: Client) => void)[] = []
  const take = (use: (client: Client) => void) => {
    const client = free.pop()
    if (client) use(client)
    else waiting.push(use)
  }
  const giveBack = (client: Client) => {
    const next = waiting.shift()
    if (next) next(client)
    else free.push(client)
  }

  const answered = (status: number, headers: IncomingHttpHeaders, body: Buffer[]): Answer => {
    const answer = body.length === 0 ? '' : headOf(Buffer.concat(body).toString(), SHOWN)
    if (status >= 200 && status < 300) return { status, answer }
    const reason = status < 400 ? movedTo(status, headers.location) : `it answered ${status}`
    return { status, answer, reason, ...retryAtOf(headers['retry-after'], now()) }
  }

  return {
    /** Sends one event. Answers always; takes `timeout` ms at most, and as long to connect; less where the poster is closed. */
    post(event: Event, done: (answer: Answer) => void): void {
      if (refused) {
        queueMicrotask(() => done({ reason: refused }))
        return
      }
      const { headers, body } = packed(event, format)
      const all = [...fixed, ...headers, ...signed(event.id, body, now())]
      const chunks: Buffer[] = []
      let timer: NodeJS.Timeout | undefined
      let head: { status: number; headers: IncomingHttpHeaders } | undefined
      take((client) => {
        const end = (error?: Error) => {
          clearTimeout(timer)
          giveBack(client)
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
    },
    close: () => Promise.all(clients.map((client) => client.destroy())),
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
