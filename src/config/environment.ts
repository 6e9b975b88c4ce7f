import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { reasonOf, TriviumError } from '../core/errors.ts'
import { isJsonObject } from '../core/json.ts'
import { attempt } from '../lib/attempt.ts'
import { isMissing } from '../lib/disk.ts'
import { nearest } from '../lib/nearest.ts'
import { withoutSecrets } from '../lib/secrets.ts'
import { type DotenvEntry, DotenvError, parseDotenv } from './dotenv.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** The environment, with what `.env` in the working directory adds. Throws `config_invalid` where that cannot be read. */
export async function readEnvironment(cwd: string, env: Environment): Promise<Environment> {
  const { variables } = await readDotenv(cwd, env)
  return { ...Object.fromEntries(variables.map(({ name, value }) => [name, value])), ...env }
}

/** What `.env` in the working directory says; `isThere`: there is one. Throws `config_invalid` with the line that is wrong. */
export async function readDotenv(
  cwd: string,
  env: Environment,
): Promise<{ isThere: boolean; path: string; variables: DotenvEntry[] }> {
  const path = join(cwd, '.env')
  try {
    const text = await readFile(path, 'utf8')
    return { isThere: true, path, variables: parseDotenv(text, (name) => env[name]) }
  } catch (cause) {
    if (isMissing(cause)) return { isThere: false, path, variables: [] }
    const place = cause instanceof DotenvError ? `.env:${cause.line}:1  ` : '.env  cannot be read: '
    throw new TriviumError('config_invalid', { details: `${place}${reasonOf(cause)}` }, { cause })
  }
}

const SECRET_KEY = /secret|token|pass|api-?key|_key\b|credential|authorization|cookie/i
/** Each text under these is one. What else has such a name may be a gateway. */
const SECRETS_KEY = /(secret|token|password|key|credential)s$/i
/** Such a key with its value in a line, unless that is a variable; or a long word alone, of a block that was not indented enough. */
const WRITTEN = new RegExp(
  `((?:${SECRET_KEY.source})[\\w-]*["']?\\s*:\\s*)(?!["']?\\$\\{[^}:]*\\}|\\[\\s*(?:\\{|$))(?:"[^"]*"?|'[^']*'?|\\[[^\\]{]*\\]?|[^\\s,}\\]])(?:[^,}\\]]|[,}\\]]+(?=[^\\s,}\\]"']))*|(?=\\S)(?<=^\\s*)[\\w+/=]{24,}$`,
  'gi',
)
/** Shorter texts would blot out half of every log line. */
const MIN_SECRET = 6
/** Values of variables that are surely no secret, and that logs must be able to show. */
const PLAIN = /^(\d{1,5}|true|false|localhost|[\d.]+)$/
const PASSWORD =
  /\/\/[^/@\s]*:([^/@\s]+)@|sentinel-password=([^&,\s]+)|^--?[\w-]*(?:secret|token|password|api-?key)=(.+)$/gi
/** A flag of a command whose next word is a secret. */
const FLAG = /^--?[\w-]*(secret|token|password|api-?key)$/i

/** The texts that logs must not show, of variables and of what the file says. Longest first, so that one inside another goes too. */
export function secretsOf(fromVariables: readonly string[], ...parts: unknown[]): string[] {
  const found = new Set(fromVariables)
  const collect = (value: unknown, key: string) => {
    if (typeof value === 'string') {
      for (const [, ...texts] of value.matchAll(PASSWORD)) found.add(texts.join(''))
      if (isSecretName(key)) found.add(value)
    }
    // `tokens` may be texts, texts by name, or mappings of which only some say a secret.
    if (Array.isArray(value)) for (const [at, item] of value.entries()) collect(item, keyIn(value, at, key))
    if (!isJsonObject(value)) return
    for (const [own, item] of Object.entries(value)) collect(item, SECRETS_KEY.test(key) ? key : own)
  }
  collect(parts, '')
  return [...found]
    .filter((text) => text.length >= MIN_SECRET && !PLAIN.test(text) && !text.includes('${'))
    .toSorted((a, b) => b.length - a.length)
}

const VARIABLES_ONLY = /^(\$\{[A-Za-z_]\w*\}|\s)+$/
/** What stands before a password in an address: the user, or the name of a part of the query. */
const IN_ADDRESS =
  /(\/\/[^/@\s:]*:)[^/@\s]+(?=@)|((?:[?&]|^--?)[\w-]*(?:secret|token|pass|key|sig|auth|credential)[\w-]*=)[^&#\s]+/gi

/** A copy of what the file says, before variables are put in, to show to people: texts under the name of a secret are masked. */
export function withoutValues(written: unknown, key = ''): unknown {
  if (typeof written === 'string') {
    if (!isSecretName(key)) return written.replaceAll(IN_ADDRESS, '$1$2[secret]')
    return VARIABLES_ONLY.test(written) ? written : '[secret]'
  }
  if (Array.isArray(written)) return written.map((item, at) => withoutValues(item, keyIn(written, at, key)))
  if (!isJsonObject(written)) return written
  const shown = Object.entries(written).map(([own, item]) => [
    own,
    withoutValues(item, SECRETS_KEY.test(key) ? key : own),
  ])
  return Object.fromEntries(shown)
}

/** Under which name an item of a list stands: that of the list, or of the flag before it. */
function keyIn(list: readonly unknown[], at: number, key: string): string {
  const before = list[at - 1]
  if (typeof before === 'string' && FLAG.test(before)) return 'secret'
  return isJsonObject(list[at]) ? '' : key
}

/** What such variables hold is a name or an address. */
const PUBLIC_NAME =
  /(?:^|_)(?:user|username|login|host|hostname|server|port|name|mailbox|folder|from|region|timezone|model)$/i

/**
 * True for a variable whose value logs may show: `IMAP_USER`, `SMTP_HOST`, or a `*_URL` of nothing but a host. The path of an address may be a
 * secret, as of a webhook.
 */
export function isPublic(name: string, value: string): boolean {
  if (SECRET_KEY.test(name)) return false
  if (PUBLIC_NAME.test(name)) return !/[\s/?&=]|:.*@/.test(value)
  return /(?:^|_)ur[li]$/i.test(name) && /^[a-z]+:\/\/[\w.-]+(?::\d+)?\/?$/i.test(value)
}

/** Also one that is mistyped. */
function isSecretName(key: string): boolean {
  return SECRET_KEY.test(key) || nearest(key, ['secret', 'token', 'password', 'api-key']) !== undefined
}

/** Makes what takes the secrets out of a line of the file. `read` gives what the file says; of one that is broken it may throw. */
export function createHider(read: () => unknown): (line: string) => string {
  const secrets = attempt(() => secretsOf([], read())) ?? []
  return (line) => {
    // Whole ones first: what has lost its beginning is not found any more. A bracket would look like the file's.
    const known = withoutSecrets(line, [...secrets, ...secretsOf([], line)]).replaceAll('[secret]', '\0')
    return known.replace(WRITTEN, '$1\0').replaceAll('\0', '[secret]')
  }
}
