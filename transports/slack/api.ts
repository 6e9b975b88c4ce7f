import { LogLevel, type WebAPICallResult, WebAPIRateLimitedError, WebClient } from '@slack/web-api'
import type { Log } from '../../src/core/log.ts'
import { slackFailure, tokenFault } from './failure.ts'

/** How long one call may take (ms). */
export const CALL_TIMEOUT = 15_000

export type SlackApi = ReturnType<typeof createSlackApi>

/**
 * Slack's Web API. While a method, or chat.postMessage in a channel, is over its limit, a call rejects without asking Slack
 * (https://docs.slack.dev/apis/web-api/rate-limits). It repeats nothing: whoever calls knows whether that is worth it, and
 * `slackFailure` tells what an error means. The client's own log lines go to debug: failures are logged where they are
 * handled.
 */
export function createSlackApi({ token, apiUrl, log, now }: ApiOptions) {
  const blockedUntil = new Map<string, number>()
  let fault: string | undefined

  class LimitedClient extends WebClient {
    override async apiCall(method: string, options: Record<string, unknown> = {}): Promise<WebAPICallResult> {
      const limit = method === 'chat.postMessage' ? `${method}/${options.channel}` : method
      const left = (blockedUntil.get(limit) ?? 0) - now()
      if (left > 0) throw new WebAPIRateLimitedError(Math.ceil(left / 1000))
      try {
        const answer = await super.apiCall(method, options)
        fault = undefined
        return answer
      } catch (error) {
        fault = tokenFault(error) ?? fault
        const { kind, seconds } = slackFailure(error)
        if (kind === 'rate-limited') blockedUntil.set(limit, now() + seconds * 1000)
        throw error
      }
    }
  }

  const silent = () => {}
  const debug = (...parts: unknown[]) => log.debug({}, parts.map(String).join(' '))
  const client = new LimitedClient(token, {
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
  /** Why Slack does not accept the token, as the last call told; undefined where it does. */
  return Object.assign(client, { fault: () => fault })
}

type ApiOptions = { token: string; apiUrl: string; log: Log; now(): number }
