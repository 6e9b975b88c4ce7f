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

/** The environment plus `.env` in the working directory. Throws `config_invalid` if that cannot be read. */
export async function readEnvironment(cwd: string, env: Environment): Promise<Environment> {
  const { variables } = await readDotenv(cwd, env)
  return { ...Object.fromEntries(variables.map(({ name, value }) => [name, value])), ...env }
}

/** Reads `.env` in the working directory; `isThere`: it exists. Throws `config_invalid` with the line of an error. */
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
/** Keys whose string values are secrets. Other values under such a name may be gateways. */
const SECRETS_KEY = /(secret|token|password|key|credential)s$/i
/** Such a key with a literal value in a line; or a long single word, from a block with wrong indentation. */
const WRITTEN = new RegExp(
  `((?:${SECRET_KEY.source})[\\w-]*["']?\\s*:\\s*)(?!["']?\\$\\{[^}:]*\\}|\\[\\s*(?:\\{|$))(?:"[^"]*"?|'[^']*'?|\\[[^\\]{]*\\]?|[^\\s,}\\]])(?:[^,}\\]]|[,}\\]]+(?=[^\\s,}\\]"']))*|(?=\\S)(?<=^\\s*)[\\w+/=]{24,}$`,
  'gi',
)
/** Minimum length for redaction, as shorter texts would match everywhere. */
const MIN_SECRET = 6
/** Values that are not secret and must stay readable in logs. */
const PLAIN = /^(\d{1,5}|true|false|localhost|[\d.]+)$/
const PASSWORD =
  /\/\/[^/@\s]*:([^/@\s]+)@|sentinel-password=([^&,\s]+)|^--?[\w-]*(?:secret|token|password|api-?key)=(.+)$/gi
/** A command flag followed by a secret. */
const FLAG = /^--?[\w-]*(secret|token|password|api-?key)$/i

/** Texts to redact, from variables and the file. Longest first, so that contained ones are covered. */
export function secretsOf(fromVariables: readonly string[], ...parts: unknown[]): string[] {
  const found = new Set(fromVariables)
  const collect = (value: unknown, key: string) => {
    if (typeof value === 'string') {
      for (const [, ...texts] of value.matchAll(PASSWORD)) found.add(texts.join(''))
      if (isSecretName(key)) found.add(value)
    }
    // `tokens` may be strings, strings by name, or mappings with some secret values.
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
/** The text before a password in a URL: the user, or a query parameter's name. */
const IN_ADDRESS =
  /(\/\/[^/@\s:]*:)[^/@\s]+(?=@)|((?:[?&]|^--?)[\w-]*(?:secret|token|pass|key|sig|auth|credential)[\w-]*=)[^&#\s]+/gi

/** A displayable copy of the file before substitution, with secrets masked. */
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

/** The name of a list item: the list's name, or the preceding flag. */
function keyIn(list: readonly unknown[], at: number, key: string): string {
  const before = list[at - 1]
  if (typeof before === 'string' && FLAG.test(before)) return 'secret'
  return isJsonObject(list[at]) ? '' : key
}

/** Variables with such names hold names or addresses. */
const PUBLIC_NAME =
  /(?:^|_)(?:user|username|login|host|hostname|server|port|name|mailbox|folder|from|region|timezone|model)$/i

/**
 * True for a variable whose value may be logged: `IMAP_USER`, `SMTP_HOST`, or a `*_URL` with only a host. The path of a URL may be a
 * secret, for example of a webhook.
 */
export function isPublic(name: string, value: string): boolean {
  if (SECRET_KEY.test(name)) return false
  if (PUBLIC_NAME.test(name)) return !/[\s/?&=]|:.*@/.test(value)
  return /(?:^|_)ur[li]$/i.test(name) && /^[a-z]+:\/\/[\w.-]+(?::\d+)?\/?$/i.test(value)
}

/** Whether a key names a secret, even if misspelt. */
function isSecretName(key: string): boolean {
  return SECRET_KEY.test(key) || nearest(key, ['secret', 'token', 'password', 'api-key']) !== undefined
}

/** Makes a function that redacts secrets in a line of the file. `read` returns the parsed file, and may throw if it is broken. */
export function createHider(read: () => unknown): (line: string) => string {
  const secrets = attempt(() => secretsOf([], read())) ?? []
  return (line) => {
    // Complete secrets first, as partial ones would not match any more. `\0` because a bracket could be part of the file.
    const known = withoutSecrets(line, [...secrets, ...secretsOf([], line)]).replaceAll('[secret]', '\0')
    return known.replace(WRITTEN, '$1\0').replaceAll('\0', '[secret]')
  }
}
