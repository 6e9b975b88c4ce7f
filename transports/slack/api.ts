import { setTimeout as pause } from 'node:timers/promises'
import { LogLevel, WebAPIRateLimitedError, WebClient } from '@slack/web-api'
import type { Log } from '../../src/core/log.ts'
import { SendPostponed } from '../../src/core/transport.ts'
import { slackFailure } from './failure.ts'
import { tokenFault } from './token-fault.ts'
import { createTurns, type Turns } from './turns.ts'

/** Slack's Web API under Slack's rate limits, with no retries but those after a 429. */
export type SlackApi = {
  /**
   * Runs one call. `limit` names what Slack counts together: a method, or, for chat.postMessage, that and a channel
   * (https://docs.slack.dev/apis/web-api/rate-limits). Waits while that is over its limit, and once repeats a call
   * that Slack refused with 429 after the time that Slack asked for; where that is longer than half a minute, it
   * rejects without asking Slack. Rejects with what the client threw; `slackFailure` tells what it means.
   */
  call<T>(limit: string, run: (web: WebClient) => Promise<T>): Promise<T>
  /** As `call` for what the outbox sends, which keeps it and comes again: waits for two seconds at most. */
  write<T>(limit: string, run: (web: WebClient) => Promise<T>): Promise<T>
  /** As `call` for what is not worth waiting for: undefined while it is over its limit. */
  tryCall<T>(limit: string, run: (web: WebClient) => Promise<T>): Promise<T | undefined>
  /**
   * Waits for the turn of a post to a channel: about one a second, with short bursts. `key` is that of the reply.
   * Throws `SendPostponed` where it does not come within two seconds, or another waits for the channel already; the
   * turn is kept for when the reply comes again.
   */
  pace(channel: string, key: string): Promise<void>
  /** Why Slack does not accept the token, as the last call told; undefined where it does. */
  fault(): string | undefined
  close(): void
}

/** https://docs.slack.dev/apis/web-api/rate-limits: one message a second and channel, short bursts allowed. */
const POSTS = { count: 5, per: 5000 }
const LONGEST_WAIT = 30_000
/** A longer wait is the outbox's business, which keeps the reply durably: who waits here keeps others from sending. */
const LONGEST_TURN = 2000
const MAX_CHANNELS = 1000

export function createSlackApi(options: {
  token: string
  apiUrl: string
  timeout: number
  log: Log
  now(): number
}): SlackApi {
  const { now } = options
  const closing = new AbortController()
  const blockedUntil = new Map<string, number>()
  const channels = new Map<string, { turn: Turns; isAwaited: boolean }>()
  let fault: string | undefined
  const web = new WebClient(options.token, {
    slackApiUrl: options.apiUrl,
    timeout: options.timeout,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    allowAbsoluteUrls: false,
    logger: quietLogger(options.log),
  })

  const wait = (ms: number) => pause(ms, undefined, { signal: closing.signal })

  const attempt = async <T>(limit: string, run: (client: WebClient) => Promise<T>): Promise<T> => {
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

  const blockedFor = (limit: string): number => {
    const left = (blockedUntil.get(limit) ?? 0) - now()
    if (left <= 0) blockedUntil.delete(limit)
    return Math.max(0, left)
  }

  const within = async <T>(
    longest: number,
    limit: string,
    run: (client: WebClient) => Promise<T>,
  ): Promise<T> => {
    const before = blockedFor(limit)
    if (before > longest) throw new WebAPIRateLimitedError(Math.ceil(before / 1000))
    if (before > 0) await wait(before)
    try {
      return await attempt(limit, run)
    } catch (error) {
      const left = blockedFor(limit)
      if (left === 0 || left > longest) throw error
      await wait(left)
      return attempt(limit, run)
    }
  }

  return {
    call: (limit, run) => within(LONGEST_WAIT, limit, run),
    write: (limit, run) => within(LONGEST_TURN, limit, run),
    async tryCall(limit, run) {
      return blockedFor(limit) > 0 ? undefined : attempt(limit, run)
    },
    async pace(channel, key) {
      const known = channels.get(channel) ?? { turn: createTurns(POSTS, now), isAwaited: false }
      // The longest unused goes first; one made anew allows a burst, as it would after a pause.
      channels.delete(channel)
      channels.set(channel, known)
      const [oldest] = channels.keys()
      if (channels.size > MAX_CHANNELS && oldest !== undefined) channels.delete(oldest)
      const until = now() + LONGEST_TURN
      for (let ms = known.turn(key); ms > 0; ms = known.turn(key)) {
        // One may wait here, so that a long text is not put off at each of its posts.
        if (known.isAwaited || now() + ms > until) throw new SendPostponed(ms)
        known.isAwaited = true
        await wait(ms).finally(() => {
          known.isAwaited = false
        })
      }
    },
    fault: () => fault,
    close: () => closing.abort(),
  }
}

/** For every client of Slack's: it logs failures that it throws as well; ours are logged where they are handled. */
export function quietLogger(log: Log) {
  const debug = (...parts: unknown[]) => log.debug({}, parts.map(String).join(' '))
  return {
    debug: () => {},
    info: debug,
    warn: debug,
    error: debug,
    setLevel: () => {},
    getLevel: () => LogLevel.INFO,
    setName: () => {},
  }
}
