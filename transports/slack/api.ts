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
import { neverConnected } from '../../src/lib/never-connected.ts'
import type { SlackOptions } from './options.ts'

/** Timeout (ms) of a call. */
export const CALL_TIMEOUT = 15_000
/** Timeout (ms) of a file upload. */
export const UPLOAD_TIMEOUT = 60_000

export type Fetch = typeof globalThis.fetch

/** The `fetch` of the current run, if it has one of its own. */
export const runFetch = new AsyncLocalStorage<Fetch>()

/** The `fetch` of all Slack clients. */
export const fetchSlack: Fetch = (input, init) => (runFetch.getStore() ?? fetch)(input, init)

export type SlackApi = ReturnType<typeof createSlackApi>

/**
 * Slack's Web API. While a method, or chat.postMessage in a channel, is rate-limited, calls reject
 * without contacting Slack (https://docs.slack.dev/apis/web-api/rate-limits). Does not retry:
 * callers decide. The client's own log lines go to debug, because failures are logged where they
 * are handled.
 */
export function createSlackApi(
  token: string,
  options: Pick<SlackOptions, 'api-url'>,
  { log, now }: Pick<TransportDeps, 'log' | 'now'>,
) {
  /** Rate limits: their end (Unix ms), and the number of callers postponed since. */
  const rateLimits = new Map<string, { until: number; waiting: number }>()
  let tokenFault: string | undefined

  class LimitedClient extends WebClient {
    override async apiCall(method: string, options: Record<string, unknown> = {}): Promise<WebAPICallResult> {
      const isPost = method === 'chat.postMessage'
      const scope = isPost ? `${method}/${options.channel}` : method
      const limit = rateLimits.get(scope)
      const secondsLeft = Math.ceil(((limit?.until ?? 0) - now()) / 1000)
      // A channel allows one post a second, so postponed callers return one after another.
      if (limit && secondsLeft > 0)
        throw new WebAPIRateLimitedError(secondsLeft + (isPost ? ++limit.waiting : 0))
      try {
        const answer = await super.apiCall(method, options)
        tokenFault = undefined
        return answer
      } catch (error) {
        const { kind, seconds, isToken, reason } = slackFailure(error)
        if (isToken) tokenFault = reason
        if (kind === 'rate-limited') rateLimits.set(scope, { until: now() + seconds * 1000, waiting: 0 })
        throw error
      }
    }
  }

  const client: WebClient = new LimitedClient(token, clientOptions(options, log))
  return Object.assign(client, {
    /** Why Slack rejected the token in the last call; undefined if it accepted it. */
    tokenFault: () => tokenFault,
  })
}

/** Options of every Slack client. */
export function clientOptions(
  { 'api-url': apiUrl }: Pick<SlackOptions, 'api-url'>,
  log: Log,
): WebClientOptions {
  const silent = () => {}
  const debug = (...parts: unknown[]) => log.debug({}, parts.map(String).join(' '))
  return {
    slackApiUrl: apiUrl,
    timeout: CALL_TIMEOUT,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    // A queued call would run in the context of another call.
    maxRequestConcurrency: Number.POSITIVE_INFINITY,
    fetch: (url, init) =>
      String(url).startsWith(apiUrl)
        ? fetchSlack(url, init)
        : fetch(url, { ...init, signal: AbortSignal.timeout(UPLOAD_TIMEOUT) }),
    allowAbsoluteUrls: false,
    logger: {
      debug: silent,
      info: debug,
      warn: debug,
      error: debug,
      setLevel: silent,
      getLevel: () => LogLevel.INFO,
      setName: silent,
    },
  }
}

const PAGE_SIZE = 100

/**
 * Reads the messages of a channel, or with `ts` of a thread, in Slack's order: whole pages until
 * there are at least `limit`. `hasMore`: there are further ones. Awaits `pace` before each call
 * except the first. Rejects with errors of `pace` and of the Web API.
 */
export async function readHistory(api: SlackApi, query: JsonObject, limit: number, pace = async () => {}) {
  const method = `conversations.${query.ts === undefined ? 'history' : 'replies'}`
  const messages: JsonObject[] = []
  let cursor: string | undefined
  do {
    if (cursor) await pace()
    const answer = toJson(await api.apiCall(method, defined({ limit: PAGE_SIZE, ...query, cursor })))
    messages.push(...objectsAt(answer, 'messages'))
    cursor = textAt(answer, 'response_metadata.next_cursor')
  } while (cursor && messages.length < limit)
  return { messages, hasMore: cursor !== undefined }
}

type Kind =
  | 'rate-limited'
  /** Permanently refused. */
  | 'rejected'
  /** Certainly had no effect, so it can be repeated. */
  | 'unsent'
  /** May have had an effect. */
  | 'unknown'

/** Errors after which, according to Slack, "some aspect of the operation" may have succeeded. */
export const MAYBE_DONE = /^(internal_error|fatal_error|request_timeout)$/

/** Meaning of codes that are not permanent refusals. */
const KINDS: readonly [Kind, RegExp][] = [
  ['unknown', MAYBE_DONE],
  ['unsent', /^(service_unavailable|token_expired|team_added_to_org|accesslimited|org_login_required)$/],
  // The Web API omits the underscore; chat.postMessage documents both.
  ['rate-limited', /^rate_?limited$/],
]
/** Pause after a rate limit without a duration. */
export const DEFAULT_LIMIT_SECONDS = 30

/** https://docs.slack.dev/reference/methods/auth.test/#errors */
const TOKEN_FAULT = /^(account_inactive|invalid_auth|not_authed|token_expired|token_revoked)$/

const ADVICE: Record<string, string> = {
  invalid_auth: 'the token is not valid; copy it again from the settings of the app',
  account_inactive: 'the app was removed from the workspace; install it again',
  token_revoked: 'the token was revoked; install the app again',
  is_archived: 'the channel is archived; unarchive it in Slack, or tell them another way',
  not_in_channel: 'the bot is not in that channel; invite it with /invite',
  channel_not_found: 'there is no such channel, or the bot may not see it; invite it with /invite',
  missing_scope: 'the token lacks a scope; add it to the app and install it again',
  expired_trigger_id: 'Slack opens a modal only within 3 s after the click or the command',
  exchanged_trigger_id: 'this click or command has opened a modal already',
  not_allowed_token_type: 'this kind of token cannot do that; app-token needs xapp-…, bot-token xoxb-…',
}

/** For `catch`: returns undefined for a permanent refusal, and rethrows other errors. */
export function ifRefused(error: unknown): undefined {
  if (slackFailure(error).kind !== 'rejected') throw error
}

/**
 * Classifies an error of a Web API call. `code`: Slack's error code, if any. `seconds`: duration of
 * a rate limit. `isToken`: the token is no longer accepted, and has to be replaced.
 */
export function slackFailure(error: unknown) {
  const failure = (kind: Kind, reason: string, { code = '', seconds = 0 } = {}) => {
    return { kind, reason, code, seconds, isToken: TOKEN_FAULT.test(code) }
  }
  if (error instanceof TriviumError) {
    const kind = error.retryable ? 'unsent' : 'rejected'
    return failure(error.code === 'send_ambiguous' ? 'unknown' : kind, error.message)
  }
  if (error instanceof SendPostponed)
    return failure('rate-limited', error.message, { seconds: error.delay / 1000 })
  if (error instanceof WebAPIRateLimitedError) {
    const { retryAfter: seconds } = error
    return failure('rate-limited', `rate limited for ${seconds} s`, { seconds })
  }
  if (error instanceof WebAPIPlatformError) {
    const { error: code } = error.data
    const [kind] = KINDS.find(([, codes]) => codes.test(code)) ?? ['rejected' as const]
    // Details about invalid blocks and arguments.
    const details = error.data.response_metadata?.messages?.join('; ')
    const reason = [code, ADVICE[code] ?? details].filter(Boolean).join(': ')
    return failure(kind, reason, { code, seconds: kind === 'rate-limited' ? DEFAULT_LIMIT_SECONDS : 0 })
  }
  if (error instanceof WebAPIHTTPError)
    return failure(error.statusCode < 500 ? 'unsent' : 'unknown', `Slack answered ${error.statusCode}`)
  if (error instanceof WebAPIRequestError) {
    // fetch wraps the error of the socket.
    const { cause = error.original } = error.original
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
    return failure(neverConnected(error.original) ? 'unsent' : 'unknown', code || reasonOf(error.original))
  }
  return failure('unknown', reasonOf(error))
}
