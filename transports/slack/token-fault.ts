import { slackFailure } from './failure.ts'

/** https://docs.slack.dev/reference/methods/auth.test/#errors: nothing works with such a token until somebody mends it. */
const CODES = new Set(['account_inactive', 'invalid_auth', 'not_authed', 'token_expired', 'token_revoked'])

/** Why Slack does not accept the token any more; undefined where a call failed for another reason. */
export function tokenFault(error: unknown): string | undefined {
  const failure = slackFailure(error)
  return failure.kind === 'rejected' && CODES.has(failure.code) ? failure.reason : undefined
}
