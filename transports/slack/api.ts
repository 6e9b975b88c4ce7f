import { LogLevel, WebAPIRateLimitedError, WebClient } from '@slack/web-api'
import type { Log } from '../../src/core/log.ts'
import { slackFailure, tokenFault } from './failure.ts'

/** How long one call may take (ms). */
export const CALL_TIMEOUT = 15_000

type Client = { token: string; apiUrl: string; log: Log }

export type SlackApi = ReturnType<typeof createSlackApi>

/** Slack's Web API under Slack's rate limits. It repeats nothing: whoever calls knows whether that is worth it. */
export function createSlackApi(options: Client & { now(): number }) {
  const { now } = options
  const blockedUntil = new Map<string, number>()
  const web = createWebClient(options)
  let fault: string | undefined

  return {
    /**
     * Runs one call. `limit` names what Slack counts together: a method, or, for chat.postMessage, that and a channel
     * (https://docs.slack.dev/apis/web-api/rate-limits). While that is over its limit, it rejects without asking Slack.
     * Rejects with what the client threw; `slackFailure` tells what it means.
     */
    async call<T>(limit: string, run: (web: WebClient) => Promise<T>): Promise<T> {
      const left = (blockedUntil.get(limit) ?? 0) - now()
      if (left > 0) throw new WebAPIRateLimitedError(Math.ceil(left / 1000))
      try {
        const answer = await run(web)
        fault = undefined
        return answer
      } catch (error) {
        fault = tokenFault(error) ?? fault
        const { kind, seconds } = slackFailure(error)
        if (kind === 'rate-limited') blockedUntil.set(limit, now() + seconds * 1000)
        throw error
      }
    },
    /** Why Slack does not accept the token, as the last call told; undefined where it does. */
    fault: () => fault,
  }
}

/** A client that repeats nothing, and whose own log lines go to debug: failures are logged where they are handled. */
export function createWebClient({ token, apiUrl, log }: Client): WebClient {
  const silent = () => {}
  const debug = (...parts: unknown[]) => log.debug({}, parts.map(String).join(' '))
  return new WebClient(token, {
    slackApiUrl: apiUrl,
    timeout: CALL_TIMEOUT,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    allowAbsoluteUrls: false,
    logger: {
      ...{ debug: silent, info: debug, warn: debug, error: debug },
      ...{ setLevel: silent, getLevel: () => LogLevel.INFO, setName: silent },
    },
  })
}
