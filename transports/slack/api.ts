import { LogLevel, type WebAPICallResult, WebAPIRateLimitedError, WebClient } from '@slack/web-api'
import { type Json, type JsonObject, objectsAt, textAt, toJson } from '../../src/core/json.ts'
import type { Log } from '../../src/core/log.ts'
import { defined } from '../../src/lib/defined.ts'
import { slackFailure } from './failure.ts'

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
  /** Until when what Slack counts together is over its limit (Unix ms), and how many were told since to come later. */
  const blocked = new Map<string, { until: number; waiting: number }>()
  let fault: string | undefined

  class LimitedClient extends WebClient {
    override async apiCall(method: string, options: Record<string, unknown> = {}): Promise<WebAPICallResult> {
      const isPost = method === 'chat.postMessage'
      const limit = isPost ? `${method}/${options.channel}` : method
      const block = blocked.get(limit)
      const left = Math.ceil(((block?.until ?? 0) - now()) / 1000)
      // A channel takes one post a second, so those who wait come back one after another.
      if (block && left > 0) throw new WebAPIRateLimitedError(left + (isPost ? ++block.waiting : 0))
      try {
        const answer = await super.apiCall(method, options)
        fault = undefined
        return answer
      } catch (error) {
        const { kind, seconds, isToken, reason } = slackFailure(error)
        if (isToken) fault = reason
        if (kind === 'rate-limited') blocked.set(limit, { until: now() + seconds * 1000, waiting: 0 })
        throw error
      }
    }
  }

  const silent = () => {}
  const debug = (...parts: unknown[]) => log.debug({}, parts.map(String).join(' '))
  const client: WebClient = new LimitedClient(token, {
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

/** Slack gives some apps 15 messages a page. */
const MAX_PAGES = 40

/** Where and what is read: all of a channel, or with `ts` one of its threads. */
type Query = { channel: string; ts?: string; [option: string]: Json }

/**
 * The messages of a channel or thread in Slack's order, about `most` of them; `isCut`: there are more. Waits for `pace`
 * before each call. Rejects with what that or the Web API threw.
 */
export async function readHistory(api: SlackApi, query: Query, most: number, pace = async () => {}) {
  const method = `conversations.${query.ts === undefined ? 'history' : 'replies'}`
  const messages: JsonObject[] = []
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES && messages.length < most; page++) {
    await pace()
    const asked = defined({ limit: 100, ...query, cursor })
    const answer = toJson(await api.apiCall(method, asked))
    messages.push(...objectsAt(answer, 'messages'))
    cursor = textAt(answer, 'response_metadata.next_cursor')
    if (!cursor) return { messages, isCut: false }
  }
  return { messages, isCut: true }
}
