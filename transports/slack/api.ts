import { AsyncLocalStorage } from 'node:async_hooks'
import {
  LogLevel,
  type WebAPICallResult,
  WebAPIHTTPError,
  WebAPIPlatformError,
  WebAPIRateLimitedError,
  WebAPIRequestError,
  WebClient,
  type WebClientOptions,
} from '@slack/web-api'
import { reasonOf, TriviumError } from '../../src/core/errors.ts'
import { type JsonObject, objectsAt, textAt, toJson } from '../../src/core/json.ts'
import type { Log } from '../../src/core/log.ts'
import { SendPostponed, type TransportDeps } from '../../src/core/transport.ts'
import { defined } from '../../src/lib/defined.ts'
import type { SlackOptions } from './options.ts'

/** How long one call may take, and one upload of a file (ms). */
export const CALL_TIMEOUT = 15_000
export const UPLOAD_TIMEOUT = 60_000

export type Fetch = typeof globalThis.fetch

/** How that calls Slack which is under way, where it has a way of its own. */
export const fetching = new AsyncLocalStorage<Fetch>()

/** The `fetch` of all clients of Slack. */
export const fetchSlack: Fetch = (input, init) => (fetching.getStore() ?? fetch)(input, init)

export type SlackApi = ReturnType<typeof createSlackApi>

/**
 * Slack's Web API. While a method, or chat.postMessage in a channel, is over its limit, a call rejects without asking Slack
 * (https://docs.slack.dev/apis/web-api/rate-limits). It repeats nothing: whoever calls knows whether that is worth it. The
 * client's own log lines go to debug: failures are logged where they are handled.
 */
export function createSlackApi(
  token: string,
  { apiUrl }: Pick<SlackOptions, 'apiUrl'>,
  { log, now }: Pick<TransportDeps, 'log' | 'now'>,
) {
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

  const client: WebClient = new LimitedClient(token, clientOptions({ apiUrl }, log))
  /** Why Slack does not accept the token, as the last call told; undefined where it does. */
  return Object.assign(client, { fault: () => fault })
}

/** What every client of Slack's is made with. */
export function clientOptions({ apiUrl }: Pick<SlackOptions, 'apiUrl'>, log: Log): WebClientOptions {
  const silent = () => {}
  const debug = (...parts: unknown[]) => log.debug({}, parts.map(String).join(' '))
  return {
    slackApiUrl: apiUrl,
    timeout: CALL_TIMEOUT,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    // A call that waits for others would be made as one of theirs.
    maxRequestConcurrency: Number.POSITIVE_INFINITY,
    fetch: (url, init) =>
      String(url).startsWith(apiUrl)
        ? fetchSlack(url, init)
        : fetch(url, { ...init, signal: AbortSignal.timeout(UPLOAD_TIMEOUT) }),
    allowAbsoluteUrls: false,
    logger: {
      ...{ debug: silent, info: debug, warn: debug, error: debug },
      ...{ setLevel: silent, getLevel: () => LogLevel.INFO, setName: silent },
    },
  }
}

/**
 * The messages of a channel, or with `ts` of one of its threads, in Slack's order, about `most` of them; `isCut`: there are
 * more. Waits for `pace` before each call but the first. Rejects with what that or the Web API threw.
 */
export async function readHistory(api: SlackApi, query: JsonObject, most: number, pace = async () => {}) {
  const method = `conversations.${query.ts === undefined ? 'history' : 'replies'}`
  const messages: JsonObject[] = []
  let cursor: string | undefined
  do {
    if (cursor) await pace()
    const answer = toJson(await api.apiCall(method, defined({ limit: 100, ...query, cursor })))
    messages.push(...objectsAt(answer, 'messages'))
    cursor = textAt(answer, 'response_metadata.next_cursor')
  } while (cursor && messages.length < most)
  return { messages, isCut: cursor !== undefined }
}

/** `rejected`: refused for good. `unsent`: certainly nothing was done, and it may be repeated. `unknown`: it may have happened. */
type Kind = 'rate-limited' | 'rejected' | 'unsent' | 'unknown'

/** "It's possible some aspect of the operation succeeded before the error was raised", says Slack of these. */
export const MAYBE_DONE = /^(internal_error|fatal_error|request_timeout)$/

/** What codes mean that refuse nothing for good. */
const KINDS: readonly [Kind, RegExp][] = [
  ['unknown', MAYBE_DONE],
  ['unsent', /^(service_unavailable|token_expired|team_added_to_org|accesslimited|org_login_required)$/],
  // The Web API says it without the line; chat.postMessage, by its own table of errors, also with it.
  ['rate-limited', /^rate_?limited$/],
]
/** The connection was never made, so nothing can have been sent. */
const UNCONNECTED = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/

/** Whether `fetch` failed before anything can have been sent. */
export function neverConnected(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof Error && 'code' in cause && UNCONNECTED.test(String(cause.code))
}

/** https://docs.slack.dev/reference/methods/auth.test/#errors */
const TOKEN_FAULT = /^(account_inactive|invalid_auth|not_authed|token_expired|token_revoked)$/

const ADVICE: Record<string, string> = {
  invalid_auth: 'the token is not valid; copy it again from the settings of the app',
  account_inactive: 'the app was removed from the workspace; install it again',
  token_revoked: 'the token was revoked; install the app again',
  not_in_channel: 'the bot is not in that channel; invite it with /invite',
  channel_not_found: 'there is no such channel, or the bot may not see it; invite it with /invite',
  missing_scope: 'the token lacks a scope; add it to the app and install it again',
  expired_trigger_id: 'Slack opens a modal only within 3 s after the click or the command',
  exchanged_trigger_id: 'this click or command has opened a modal already',
  not_allowed_token_type: 'this kind of token cannot do that; appToken wants xapp-…, botToken xoxb-…',
}

/** For `catch`: what Slack refuses for good is let pass, as undefined; all else that fails may be asked again. */
export function ifRefused(error: unknown): undefined {
  if (slackFailure(error).kind !== 'rejected') throw error
}

/**
 * How a call of the Web API failed, from what it threw. `code`: Slack's own, where it gave one. `seconds`: for how long it
 * takes no more. `isToken`: it does not accept the token any more, and nothing works with it until somebody mends it.
 */
export function slackFailure(error: unknown) {
  const failed = (kind: Kind, reason: string, { code = '', seconds = 0 } = {}) => {
    return { kind, reason, code, seconds, isToken: TOKEN_FAULT.test(code) }
  }
  if (error instanceof TriviumError) {
    const kind = error.retryable ? 'unsent' : 'rejected'
    return failed(error.code === 'send_ambiguous' ? 'unknown' : kind, error.message)
  }
  if (error instanceof SendPostponed)
    return failed('rate-limited', error.message, { seconds: error.delay / 1000 })
  if (error instanceof WebAPIRateLimitedError) {
    const { retryAfter: seconds } = error
    return failed('rate-limited', `rate limited for ${seconds} s`, { seconds })
  }
  if (error instanceof WebAPIPlatformError) {
    const { error: code } = error.data
    const [kind] = KINDS.find(([, codes]) => codes.test(code)) ?? ['rejected' as const]
    // Of blocks and arguments it says what is wrong with them.
    const details = error.data.response_metadata?.messages?.join('; ')
    const reason = [code, ADVICE[code] ?? details].filter(Boolean).join(': ')
    return failed(kind, reason, { code, seconds: kind === 'rate-limited' ? 30 : 0 })
  }
  if (error instanceof WebAPIHTTPError)
    return failed(error.statusCode < 500 ? 'unsent' : 'unknown', `Slack answered ${error.statusCode}`)
  if (error instanceof WebAPIRequestError) {
    // fetch wraps what the socket said.
    const { cause = error.original } = error.original
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
    return failed(UNCONNECTED.test(code) ? 'unsent' : 'unknown', code || reasonOf(error.original))
  }
  return failed('unknown', reasonOf(error))
}
