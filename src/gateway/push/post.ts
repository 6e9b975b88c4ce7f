import { lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { Pool } from 'undici'
import { reasonOf } from '../../core/errors.ts'
import type { Event } from '../../core/event.ts'
import { isPrivateHost, type PushSubscription } from '../../core/push.ts'
import { headOf } from '../../lib/head-of.ts'
import { isPrivateAddress } from '../../lib/private-address.ts'
import { packed, signed } from './wire.ts'

/** What came of one POST: `reason` where it failed, the head of what was answered, and from when (Unix ms) it may come again. */
export type Answer = { status?: number; reason?: string; answer?: string; retryAt?: number }

const MAX_ANSWER = 65_536
const SHOWN = 300

/**
 * Sends the events of one subscription over connections of its own, which are kept. Each connection is made to an address
 * that was looked at after the name was resolved, so that no name leads to a private one, and to no other.
 */
export function createPoster(subscription: PushSubscription, now: () => number) {
  const { allowPrivate, concurrency, timeout, secret, format } = subscription
  const url = new URL(subscription.url)
  const keys = secret.map((one) => Buffer.from(one.slice('whsec_'.length), 'base64'))
  const pool = new Pool(url.origin, {
    connections: concurrency,
    allowH2: false,
    maxResponseSize: MAX_ANSWER,
    connect: { timeout, ...(allowPrivate ? {} : { lookup: publicOnly }) },
  })

  const post = async (event: Event, signal: AbortSignal): Promise<Answer> => {
    // Node looks up no name that is an address.
    if (!allowPrivate && isPrivateHost(url)) return { reason: refusal(url.hostname) }
    const { headers, body } = packed(event, format)
    const response = await pool.request({
      path: url.pathname + url.search,
      method: 'POST',
      headers: {
        ...subscription.headers,
        'user-agent': 'Trivium',
        ...headers,
        ...signed(event.id, body, keys, now()),
      },
      body,
      signal,
    })
    const { statusCode: status } = response
    // How it ends is no matter: the status has been said.
    const text = await response.body.text().catch(() => '')
    const answer = headOf(text, SHOWN)
    if (status >= 200 && status < 300) return { status, answer }
    const reason = status < 400 ? movedTo(status, response.headers.location) : `it answered ${status}`
    return { status, answer, reason, ...retryAtOf(response.headers['retry-after'], now()) }
  }

  return {
    /** Sends one event. Never rejects; takes `timeout` ms at most, less where `signal` aborts. */
    async post(event: Event, signal: AbortSignal): Promise<Answer> {
      // `AbortSignal.timeout` and `any` cost more than the rest of the request.
      const cut = new AbortController()
      const end = () => cut.abort(new Error(`no answer within ${timeout} ms`))
      const timer = setTimeout(end, timeout)
      signal.addEventListener('abort', end)
      try {
        return await post(event, cut.signal)
      } catch (error) {
        return { reason: reasonOf(error) || String(error) }
      } finally {
        clearTimeout(timer)
        signal.removeEventListener('abort', end)
      }
    },
    close: () => pool.destroy(),
  }
}

const publicOnly: LookupFunction = (hostname, options, done) => {
  lookup(hostname, { ...options, all: true }, (error, found) => {
    const [first, ...others] = error ? [] : found.filter(({ address }) => !isPrivateAddress(address))
    if (error) done(error, '')
    else if (!first)
      done(new Error(refusal(`${hostname} (${found.map(({ address }) => address).join(', ')})`)), '')
    else if (options.all) done(null, [first, ...others])
    else done(null, first.address, first.family)
  })
}

function refusal(what: string): string {
  return `${what} is a private address; set \`allow-private: true\` if that is meant`
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
