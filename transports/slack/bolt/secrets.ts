import { withoutSecrets } from '../../../src/lib/secrets.ts'

/** Tokens of all kinds (https://docs.slack.dev/authentication/tokens), and webhook URLs. */
const TOKEN = /\b(xox[abcdeprs](?:\.xox[bp])?|xapp|xwfp)-[\w-]{4,}/gi
const HOOK = /(https:\/\/hooks\.slack(?:-gov)?\.com\/)[\w/-]+/gi
/** Headers with credentials. */
const BEARER = /\b(bearer )[\w.~+/-]{8,}=*/gi
const BASIC = /\b(authorization\W{1,6}basic )[\w+/-]{4,}=*/gi
/** Names of variables with secret values. */
const NAMES = /(TOKEN|SECRET|PASSWORD|PASS|API_?KEY|PRIVATE_KEY|CREDENTIALS?)$/i
/** Shorter values are not redacted, as they would match ordinary words. */
const SHORTEST = 8

/** Redacts Slack tokens in an app's output for logs, errors and dead letters. */
export function withoutTokens(text: string): string {
  return text
    .replaceAll(TOKEN, '$1-[secret]')
    .replaceAll(HOOK, '$1[secret]')
    .replaceAll(BEARER, '$1[secret]')
    .replaceAll(BASIC, '$1[secret]')
}

/** Also redacts the secrets of an environment. */
export function cleanerFor(env: Record<string, string | undefined>): (text: string) => string {
  const known = Object.entries(env).flatMap(([name, value]) =>
    NAMES.test(name) && value !== undefined && value.length >= SHORTEST ? [value] : [],
  )
  return (text) => withoutSecrets(withoutTokens(text), known)
}
