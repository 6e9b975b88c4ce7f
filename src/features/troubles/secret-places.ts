import type { GatewaySecret } from '../../config/gateway-secrets.ts'

/** Returns where the secrets of a gateway are configured; see `gatewaySecrets`. */
export type SecretsOf = (gateway: string) => readonly GatewaySecret[]

/** Maximum number of settings in a text. */
const MOST_NAMED = 3
/** Words of a provider that rejects a login. */
const REJECTED =
  /password|passwd|log-?in|auth|credential|token|account|expired|denied|forbidden|\b(?:401|403|535)\b/i
/** The network or the server, whose name may contain such words: `accounts.example.com`. */
const NO_ANSWER =
  /certificate|\bE(?:NOTFOUND|AI_AGAIN|CONN\w+|TIMEDOUT|HOST\w+|NET\w+|PIPE)\b|\btimed? ?out\b/i

export function isRejectedLogin(detail: string): boolean {
  return REJECTED.test(detail) && !NO_ANSWER.test(detail)
}

/**
 * Where the secrets of a gateway are: their settings, the file and the variables. Empty if no secret
 * is configured.
 */
export function placeText(gateway: string, secrets: readonly GatewaySecret[]): string {
  const [first] = secrets
  if (!first) return ''
  const settings = secrets.slice(0, MOST_NAMED).map(({ setting }) => `\`${setting}\``)
  const more = secrets.length > MOST_NAMED ? ` and ${secrets.length - MOST_NAMED} more` : ''
  const variables = [...new Set(secrets.flatMap((each) => each.variables))].slice(0, MOST_NAMED)
  const named = variables.map((each) => `\`${each}\``).join(', ')
  const what = variables.length === 1 ? 'the variable' : 'the variables'
  const where = variables.length === 0 ? '' : `: ${what} ${named}, in .env or the environment`
  const subject = secrets.length === 1 ? 'The secret is' : 'The secrets are'
  return `${subject} ${settings.join(', ')}${more} of gateway ${gateway} in ${first.file}${where}.`
}
