import { withoutSecrets } from '../../../src/lib/secrets.ts'

/** Tokens of every kind (https://docs.slack.dev/authentication/tokens), and addresses that whoever knows them may post to. */
const TOKEN = /\b(xox[abcdeprs](?:\.xox[bp])?|xapp|xwfp)-[\w-]{4,}/gi
const HOOK = /(https:\/\/hooks\.slack(?:-gov)?\.com\/)[\w/-]+/gi
const BEARER = /\b(bearer )[\w.~+/-]{8,}=*/gi
/** Variables whose values are secrets by their names. */
const NAMES = /(TOKEN|SECRET|PASSWORD|PASS|API_?KEY|PRIVATE_KEY|CREDENTIALS?)$/i
/** Shorter values are words that texts have anyway. */
const SHORTEST = 8

/** What an app says, in logs, errors and dead letters, without tokens of Slack. */
export function withoutTokens(text: string): string {
  return text.replaceAll(TOKEN, '$1-[secret]').replaceAll(HOOK, '$1[secret]').replaceAll(BEARER, '$1[secret]')
}

/** The same without the secrets in an environment. */
export function cleanerFor(env: Record<string, string | undefined>): (text: string) => string {
  const known = Object.entries(env).flatMap(([name, value]) =>
    NAMES.test(name) && value !== undefined && value.length >= SHORTEST ? [value] : [],
  )
  return (text) => withoutSecrets(withoutTokens(text), known)
}
