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

/**
 * The environment plus `.env` in the working directory. Throws `config_invalid` if that cannot be
 * read.
 */
export async function readEnvironment(cwd: string, env: Environment): Promise<Environment> {
  const { variables } = await readDotenv(cwd, env)
  return { ...Object.fromEntries(variables.map(({ name, value }) => [name, value])), ...env }
}

/**
 * Reads `.env` in the working directory. `isThere`: the file exists. Throws `config_invalid` with
 * the line of an error.
 */
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
/** Keys of addresses. */
const ADDRESS_KEY = /-ur[li]$/i
/** Keys of lists or mappings whose texts are secrets. Mappings in them have keys of their own. */
const SECRETS_KEY = /(secret|token|password|key|credential)s$/i
/** A key of a secret with its colon, in a line of the file. */
const KEY_OF_SECRET = `((?:${SECRET_KEY.source})[\\w-]*["']?\\s*:\\s*)`
/** A variable without a default, perhaps in quotation marks. */
const VARIABLE = `["']?\\$\\{[^}:]*\\}`
/** Neither a variable, nor a list of variables, nor a list of mappings follows. */
const NO_VARIABLE = `(?!${VARIABLE}|\\[(?:\\s*${VARIABLE}["']?\\s*,?)+\\s*\\]|\\[\\s*(?:\\{|$))`
/**
 * A quoted text, a list of texts, or the first character of an unquoted text; perhaps not closed in
 * this line.
 */
const VALUE_START = `(?:"[^"]*"?|'[^']*'?|\\[(?:\\$\\{[^}]*\\}|[^\\]{])*\\]?|[^\\s,}\\]])`
/** The rest of a value: up to a comma or bracket that ends it. */
const VALUE_REST = `(?:[^,}\\]]|[,}\\]]+(?=[^\\s,}\\]"']))*`
/** A long word alone in a line, probably a secret of a block with wrong indentation. */
const LONE_WORD = `(?=\\S)(?<=^\\s*)[\\w+/=]{24,}$`
const WRITTEN_SECRET = new RegExp(
  `${KEY_OF_SECRET}${NO_VARIABLE}${VALUE_START}${VALUE_REST}|${LONE_WORD}`,
  'gi',
)
/** Minimum length for redaction, as shorter texts would match everywhere. */
const MIN_SECRET = 6
/** Values that are not secret and must stay readable in logs. */
const PLAIN = /^(\d{1,5}|true|false|localhost|[\d.]+)$/
/** Passwords in URLs, and in command flags with their value. */
const PASSWORD =
  /\/\/[^/@\s]*:([^/@\s]+)@|sentinel-password=([^&,\s]+)|^--?[\w-]*(?:secret|token|password|api-?key)=(.+)$/gi
/**
 * The scheme before the credentials of a header, such as Bearer. What follows must look like
 * credentials: of a password of two words, the second one may be anywhere.
 */
const SCHEME = /^[A-Za-z][\w-]{0,19} +(?=(?:\S*\d\S*|\S{16,})$)/
/** A command flag followed by a secret. */
const FLAG = /^--?[\w-]*(secret|token|password|api-?key)$/i

/**
 * Texts to redact, from variables and the file. Longest first, so that contained ones are covered.
 */
export function secretsOf(fromVariables: readonly string[], ...parts: unknown[]): string[] {
  const found = new Set(fromVariables)
  const collect = (value: unknown, key: string) => {
    if (typeof value === 'string') {
      // One of the alternatives matched; the groups of the others are empty.
      for (const [, ...groups] of value.matchAll(PASSWORD)) found.add(groups.join(''))
      if (isSecretName(key)) found.add(value).add(value.replace(SCHEME, ''))
    }
    // `tokens` may be strings, strings by name, or mappings with some secret values.
    if (Array.isArray(value))
      for (const [index, item] of value.entries()) collect(item, keyIn(value, index, key))
    if (!isJsonObject(value)) return
    for (const [own, item] of Object.entries(value)) collect(item, SECRETS_KEY.test(key) ? key : own)
  }
  collect(parts, '')
  return [...found]
    .filter((text) => text.length >= MIN_SECRET && !PLAIN.test(text) && !text.includes('${'))
    .toSorted((a, b) => b.length - a.length)
}

/** A text that consists of variables, which are shown. */
const VARIABLES_ONLY = /^(\$\{[A-Za-z_]\w*\}|\s)+$/
/**
 * A password in a URL, with the text before it: the user, or the name of a query parameter or flag.
 */
const PASSWORD_IN_URL =
  /(\/\/[^/@\s:]*:)[^/@\s]+(?=@)|((?:[?&]|^--?)[\w-]*(?:secret|token|pass|key|sig|auth|credential)[\w-]*=)[^&#\s]+/gi

/** A displayable copy of the file before substitution, with secrets masked. */
export function withMaskedSecrets(value: unknown, key = ''): unknown {
  if (typeof value === 'string') {
    if (!isSecretName(key)) return value.replaceAll(PASSWORD_IN_URL, '$1$2[secret]')
    return VARIABLES_ONLY.test(value) ? value : '[secret]'
  }
  if (Array.isArray(value))
    return value.map((item, index) => withMaskedSecrets(item, keyIn(value, index, key)))
  if (!isJsonObject(value)) return value
  const masked = Object.entries(value).map(([own, item]) => [
    own,
    withMaskedSecrets(item, SECRETS_KEY.test(key) ? key : own),
  ])
  return Object.fromEntries(masked)
}

/**
 * The key that applies to an item of the list at `key`. An item after a flag such as `--token` is a
 * secret.
 */
function keyIn(list: readonly unknown[], index: number, key: string): string {
  const before = list[index - 1]
  if (typeof before === 'string' && FLAG.test(before)) return 'secret'
  return isJsonObject(list[index]) ? '' : key
}

/** Variables with such names hold names or addresses. */
const PUBLIC_NAME =
  /(?:^|_)(?:user|username|login|host|hostname|server|port|name|mailbox|folder|from|region|timezone|model)$/i

/**
 * Whether the value of a variable may be logged: that of `IMAP_USER` or `SMTP_HOST`, or a `*_URL`
 * with only a host. The path of a URL may be a secret, for example of a webhook.
 */
export function isPublic(name: string, value: string): boolean {
  if (SECRET_KEY.test(name)) return false
  if (PUBLIC_NAME.test(name)) return !/[\s/?&=]|:.*@/.test(value)
  return /(?:^|_)ur[li]$/i.test(name) && /^[a-z]+:\/\/[\w.-]+(?::\d+)?\/?$/i.test(value)
}

/** Whether a key names a secret, even if misspelt. `api-url` is not a misspelt `api-key`. */
export function isSecretName(key: string): boolean {
  if (ADDRESS_KEY.test(key)) return SECRET_KEY.test(key)
  return SECRET_KEY.test(key) || nearest(key, ['secret', 'token', 'password', 'api-key']) !== undefined
}

/**
 * Makes a function that redacts secrets in a line of the file. `read` returns the parsed file, and
 * may throw if that is broken.
 */
export function createRedactor(read: () => unknown): (line: string) => string {
  const secrets = attempt(() => secretsOf([], read())) ?? []
  return (line) => {
    // Complete secrets first, as they would not match after a part of them is replaced.
    const redacted = withoutSecrets(line, [...secrets, ...secretsOf([], line)]).replaceAll('[secret]', HIDDEN)
    return redacted.replace(WRITTEN_SECRET, (found, key = '') => key + maskedValue(found.slice(key.length)))
  }
}

/** In place of a secret in a line. Without brackets, because those of the line must be recognised. */
const HIDDEN = '(secret)'
/** A variable without a default, perhaps in quotation marks. */
const ONLY_VARIABLE = new RegExp(`^${VARIABLE}["']?$`)
/** Texts with their quotation marks, which may not be closed, and others up to a comma or bracket. */
const TEXT_IN_LIST = /"(?:[^"\\]|\\.)*"?|'(?:[^']|'')*'?|[^\s,\]}](?:[^\s,\]}]|\s+(?=[^\s,\]}]))*/g
const TEXT_ALONE = /^(["'])(?:\\.|(?!\1).)*(\1?)(.*)$/s

/** A value with its texts masked. Its brackets, commas and quotation marks stay: one may be missing. */
function maskedValue(value: string): string {
  if (value.startsWith('[')) return `[${value.slice(1).replaceAll(TEXT_IN_LIST, maskedText)}`
  const end = value.slice(value.trimEnd().length)
  return maskedText(value.trimEnd()) + end
}

function maskedText(text: string): string {
  if (ONLY_VARIABLE.test(text)) return text
  const [, quote = '', close = '', rest = ''] = TEXT_ALONE.exec(text) ?? []
  return `${quote}${HIDDEN}${close}${rest === '' ? '' : HIDDEN}`
}
