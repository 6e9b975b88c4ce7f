import { withoutSecrets } from '../../../src/lib/secrets.ts'

/** Tokens of all kinds (https://docs.slack.dev/authentication/tokens). */
const TOKEN = /\b(xox[abcdeprs](?:\.xox[bp])?|xapp|xwfp)-[\w-]{4,}/gi
/** The URL of a webhook, which anyone may post to. */
const HOOK = /(https:\/\/hooks\.slack(?:-gov)?\.com\/)[\w/-]+/gi
/** A bearer token, as in the header `Authorization`. */
const BEARER = /\b(bearer )[\w.~+/-]{8,}=*/gi
/** The header of basic authentication. */
const BASIC = /\b(authorization\W{1,6}basic )[\w+/-]{4,}=*/gi
/** Names of variables with secret values. */
const SECRET_NAME = /(TOKEN|SECRET|PASSWORD|PASS|API_?KEY|PRIVATE_KEY|CREDENTIALS?)$/i
/** Shorter values are not redacted, because they could be ordinary words. */
const MIN_LENGTH = 8

/**
 * Redacts Slack tokens and other credentials in an app's output, for logs, errors and dead letters.
 */
export function withoutTokens(text: string): string {
  return text
    .replaceAll(TOKEN, '$1-[secret]')
    .replaceAll(HOOK, '$1[secret]')
    .replaceAll(BEARER, '$1[secret]')
    .replaceAll(BASIC, '$1[secret]')
}

/** Creates a function that also redacts the secrets in an environment. */
export function redactorFor(env: Record<string, string | undefined>): (text: string) => string {
  const known = Object.entries(env).flatMap(([name, value]) =>
    SECRET_NAME.test(name) && value !== undefined && value.length >= MIN_LENGTH ? [value] : [],
  )
  return (text) => withoutSecrets(withoutTokens(text), known)
}
