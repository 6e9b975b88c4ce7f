import { LogLevel, WebAPIRateLimitedError, WebClient } from '@slack/web-api'
import type { Log } from '../../src/core/log.ts'
import { SendPostponed } from '../../src/core/transport.ts'
import { pause } from '../../src/lib/pause.ts'
import { slackFailure, tokenFault } from './failure.ts'

/** Slack's Web API under Slack's rate limits, with no retries but one after a 429 that is soon over. */
export type SlackApi = {
  /**
   * Runs one call. `limit` names what Slack counts together: a method, or, for chat.postMessage, that and a channel
   * (https://docs.slack.dev/apis/web-api/rate-limits). While that is over its limit for more than two seconds, it rejects
   * without asking Slack. Rejects with what the client threw; `slackFailure` tells what it means.
   */
  call<T>(limit: string, run: (web: WebClient) => Promise<T>): Promise<T>
  /**
   * Waits for the turn of a post to a channel: about one a second, with short bursts. `key` is that of the reply.
   * Throws `SendPostponed` where the turn comes later than in two seconds; it is kept for when the reply comes again.
   */
  pace(channel: string, key: string): Promise<void>
  /** Why Slack does not accept the token, as the last call told; undefined where it does. */
  fault(): string | undefined
  close(): void
}

/** https://docs.slack.dev/apis/web-api/rate-limits: one message a second and channel, short bursts allowed. */
const POST_EVERY = 1000
const BURST = 5
/** A longer wait is the outbox's business, which keeps the reply durably: who waits here keeps others from sending. */
const LONGEST_WAIT = 2000
/** A turn that nobody came for is kept for so long (ms). */
const TURN_KEPT = 60_000
const MAX_CHANNELS = 1000

/** When the next turn in a channel is free, and the turns that were promised, by reply (Unix ms). */
type Channel = { free: number; promised: Map<string, number> }

export function createSlackApi(options: ClientOptions & { now(): number }): SlackApi {
  const { now } = options
  const closing = new AbortController()
  const blockedUntil = new Map<string, number>()
  const channels = new Map<string, Channel>()
  const web = createWebClient(options)
  let fault: string | undefined

  const turnOf = (channel: string, key: string): number => {
    const { free, promised } = channels.get(channel) ?? { free: 0, promised: new Map<string, number>() }
    const known = promised.get(key)
    if (known !== undefined) return known
    for (const [other, at] of promised) if (at + TURN_KEPT < now()) promised.delete(other)
    const turn = Math.max(free, now() - (BURST - 1) * POST_EVERY)
    promised.set(key, turn)
    // The longest unused goes first; one made anew allows a burst, as it would after a pause.
    channels.delete(channel)
    channels.set(channel, { free: turn + POST_EVERY, promised })
    const [oldest] = channels.keys()
    if (channels.size > MAX_CHANNELS && oldest !== undefined) channels.delete(oldest)
    return turn
  }

  const attempt = async <T>(limit: string, run: (client: WebClient) => Promise<T>): Promise<T> => {
    const left = (blockedUntil.get(limit) ?? 0) - now()
    if (left > LONGEST_WAIT) throw new WebAPIRateLimitedError(Math.ceil(left / 1000))
    if (left > 0) await pause(left, closing.signal)
    try {
      const answer = await run(web)
      fault = undefined
      return answer
    } catch (error) {
      fault = tokenFault(error) ?? fault
      const failure = slackFailure(error)
      if (failure.kind === 'rate-limited') blockedUntil.set(limit, now() + failure.seconds * 1000)
      throw error
    }
  }

  return {
    call: (limit, run) =>
      attempt(limit, run).catch((error: unknown) => {
        if (slackFailure(error).kind === 'rate-limited') return attempt(limit, run)
        throw error
      }),
    async pace(channel, key) {
      const wait = turnOf(channel, key) - now()
      if (wait > LONGEST_WAIT) throw new SendPostponed(wait)
      if (wait > 0) await pause(wait, closing.signal)
      if (closing.signal.aborted) throw new SendPostponed(POST_EVERY)
      channels.get(channel)?.promised.delete(key)
    },
    fault: () => fault,
    close: () => closing.abort(),
  }
}

export type ClientOptions = {
  token: string
  apiUrl: string
  /** ms */
  timeout: number
  log: Log
}

/** A client that repeats nothing, and whose own log lines go to debug: failures are logged where they are handled. */
export function createWebClient({ token, apiUrl, timeout, log }: ClientOptions): WebClient {
  const debug = (...parts: unknown[]) => log.debug({}, parts.map(String).join(' '))
  return new WebClient(token, {
    slackApiUrl: apiUrl,
    timeout,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    allowAbsoluteUrls: false,
    logger: {
      debug: () => {},
      info: debug,
      warn: debug,
      error: debug,
      setLevel: () => {},
      getLevel: () => LogLevel.INFO,
      setName: () => {},
    },
  })
}
