import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { reasonOf, TriviumError } from '../core/errors.ts'
import { isJsonObject } from '../core/json.ts'
import { isMissing } from '../lib/disk.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** The environment, with what `.env` in the working directory adds. Throws `config_invalid` where that cannot be read. */
export async function readEnvironment(cwd: string, env: Environment): Promise<Environment> {
  try {
    return { ...parseEnv(await readFile(join(cwd, '.env'), 'utf8')), ...env }
  } catch (cause) {
    if (isMissing(cause)) return env
    const details = `.env  cannot be read: ${reasonOf(cause)}`
    throw new TriviumError('config_invalid', { details }, { cause })
  }
}

const SECRET_KEY = /secret|token|pass|api-?key|credential/i
/** Shorter texts would blot out half of every log line. */
const MIN_SECRET = 6
/** Values of variables that are surely no secret, and that logs must be able to show. */
const PLAIN = /^(\d{1,5}|true|false|localhost|[\d.]+)$/

/** The texts that logs must not show. Longest first, so that one inside another goes too. */
export function secretsOf(
  fromVariables: readonly string[],
  file: unknown,
  { token = '', redisUrl = '' }: { token?: string; redisUrl?: string },
): string[] {
  const passwords = [...redisUrl.matchAll(/\/\/[^/@\s]*:([^/@\s]+)@|sentinel-password=([^&,\s]+)/g)].map(
    ([, password, sentinel = '']) => password ?? sentinel,
  )
  const found = new Set([...fromVariables, token, ...passwords])
  const collect = (value: unknown, isSecret: boolean) => {
    if (typeof value === 'string' && isSecret) found.add(value)
    if (Array.isArray(value)) for (const item of value) collect(item, isSecret)
    if (!isJsonObject(value)) return
    for (const [key, item] of Object.entries(value)) collect(item, SECRET_KEY.test(key))
  }
  collect(file, false)
  return [...found]
    .filter((text) => text.length >= MIN_SECRET && !PLAIN.test(text) && !text.includes('${'))
    .toSorted((a, b) => b.length - a.length)
}
