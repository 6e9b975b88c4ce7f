import {
  SlackError,
  WebAPIHTTPError,
  WebAPIPlatformError,
  WebAPIRateLimitedError,
  WebAPIRequestError,
} from '@slack/web-api'
import { reasonOf, TriviumError } from '../../src/core/errors.ts'
import { SendPostponed } from '../../src/core/transport.ts'

/**
 * How a call of the Web API failed. `rejected`: Slack refused for good. `unsent`: it certainly did nothing and may
 * be repeated. `unknown`: it may have happened.
 */
export type SlackFailure =
  | { kind: 'rate-limited'; seconds: number; reason: string }
  | { kind: 'rejected'; code: string; reason: string }
  | { kind: 'unsent'; reason: string }
  | { kind: 'unknown'; reason: string }

/** "It's possible some aspect of the operation succeeded before the error was raised", says Slack of these. */
const UNKNOWN = new Set(['internal_error', 'fatal_error', 'request_timeout'])
const TRANSIENT = new Set(['service_unavailable', 'team_added_to_org', 'accesslimited', 'org_login_required'])
/** The connection was never made, so nothing can have been sent. */
const UNCONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** The Web API says the one; chat.postMessage, by its own table of errors, also the other. */
const LIMITED = new Set(['ratelimited', 'rate_limited'])

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

/** Classifies what a call of the Web API threw. */
export function slackFailure(error: unknown): SlackFailure {
  if (error instanceof WebAPIRateLimitedError) {
    const { retryAfter: seconds } = error
    return { kind: 'rate-limited', seconds, reason: `rate limited for ${seconds} s` }
  }
  if (error instanceof SendPostponed) {
    return { kind: 'rate-limited', seconds: error.delay / 1000, reason: error.message }
  }
  if (error instanceof WebAPIPlatformError) return platformFailure(error)
  if (error instanceof WebAPIHTTPError) {
    const reason = `Slack answered ${error.statusCode}`
    return error.statusCode < 500 ? { kind: 'unsent', reason } : { kind: 'unknown', reason }
  }
  if (error instanceof WebAPIRequestError) {
    const code = causeCode(error.original)
    const reason = code ?? reasonOf(error.original)
    return { kind: code !== undefined && UNCONNECTED.has(code) ? 'unsent' : 'unknown', reason }
  }
  if (error instanceof SlackError) return { kind: 'rejected', code: error.code, reason: error.message }
  return { kind: 'unknown', reason: reasonOf(error) }
}

/** https://docs.slack.dev/reference/methods/auth.test/#errors: nothing works with such a token until somebody mends it. */
const TOKEN_FAULT = /^(account_inactive|invalid_auth|not_authed|token_expired|token_revoked)$/

/** Why Slack does not accept the token any more; undefined where a call failed for another reason. */
export function tokenFault(error: unknown): string | undefined {
  const failure = slackFailure(error)
  return failure.kind === 'rejected' && TOKEN_FAULT.test(failure.code) ? failure.reason : undefined
}

/** A failed write as the outbox wants it: try again, give up, look first, or come again when it is time. */
export function sendError(gateway: string, key: string, error: unknown): TriviumError | SendPostponed {
  if (error instanceof TriviumError) return error
  const failure = slackFailure(error)
  if (failure.kind === 'rate-limited') return new SendPostponed(failure.seconds * 1000)
  return new TriviumError(SEND_ERRORS[failure.kind], { gateway, key, ...failure }, { cause: error })
}

const SEND_ERRORS = { rejected: 'send_rejected', unknown: 'send_ambiguous', unsent: 'send_failed' } as const

/** Whether a write that failed may have happened all the same, so that it must be looked for. */
export function mayHaveArrived(error: unknown): boolean {
  if (error instanceof TriviumError) return error.code === 'send_ambiguous'
  return slackFailure(error).kind === 'unknown'
}

function platformFailure(error: WebAPIPlatformError): SlackFailure {
  const code = error.data.error
  const known = ADVICE[code]
  const reason = known === undefined ? code : `${code}: ${known}`
  if (LIMITED.has(code)) return { kind: 'rate-limited', seconds: 30, reason }
  if (UNKNOWN.has(code)) return { kind: 'unknown', reason }
  return TRANSIENT.has(code) ? { kind: 'unsent', reason } : { kind: 'rejected', code, reason }
}

/** fetch wraps what the socket said in causes. */
function causeCode(error: unknown): string | undefined {
  for (let current = error, depth = 0; current instanceof Error && depth < 5; depth++) {
    if ('code' in current && typeof current.code === 'string') return current.code
    current = current.cause
  }
  return undefined
}
