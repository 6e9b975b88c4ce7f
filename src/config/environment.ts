import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { reasonOf, TriviumError } from '../core/errors.ts'
import { isJsonObject } from '../core/json.ts'
import { isMissing } from '../lib/disk.ts'
import type { Path } from './yaml-file.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/**
 * The environment with what `.env` in the working directory adds; a variable that is set already wins.
 * Throws `config_invalid` where `.env` is there but cannot be read.
 */
export async function readEnvironment(cwd: string, env: Environment): Promise<Environment> {
  try {
    return { ...parseEnv(await readFile(join(cwd, '.env'), 'utf8')), ...env }
  } catch (cause) {
    if (isMissing(cause)) return env
    throw new TriviumError(
      'config_invalid',
      { details: `.env  cannot be read: ${reasonOf(cause)}` },
      { cause },
    )
  }
}

/** One `${…}` in a text. `optional`: it has a default. `value`: what the environment says; empty is unset. */
export type Variable = { path: Path; name: string; optional: boolean; value?: string }

const TOKEN = /\$?\$\{[^}]*\}?/g
const VARIABLE = /^\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}$/

/**
 * Puts the environment into every text of a value: `${NAME}`, and `${NAME:-default}` where NAME may be
 * unset or empty. `$${` is a plain `${`. A variable that is missing leaves nothing; `variables` tells. `malformed` gets
 * each `${` that is no variable.
 */
export function interpolate(
  value: unknown,
  env: Environment,
  base: Path,
  malformed: (path: Path, token: string) => void,
): { value: unknown; variables: Variable[] } {
  const variables: Variable[] = []

  const visit = (current: unknown, path: Path): unknown => {
    if (typeof current === 'string') return fill(current, path)
    if (Array.isArray(current)) return current.map((item, index) => visit(item, [...path, index]))
    if (!isJsonObject(current)) return current
    return Object.fromEntries(
      Object.entries(current).map(([key, item]) => [key, visit(item, [...path, key])]),
    )
  }

  const fill = (text: string, path: Path): string =>
    text.replaceAll(TOKEN, (token) => {
      if (token.startsWith('$$')) return token.slice(1)
      const [, name, fallback] = VARIABLE.exec(token) ?? []
      if (name === undefined) malformed(path, token)
      if (name === undefined) return token
      const found = Object.hasOwn(env, name) ? env[name] : undefined
      variables.push({ path, name, optional: fallback !== undefined, ...(found ? { value: found } : {}) })
      return found || fallback || ''
    })

  return { value: visit(value, base), variables }
}

/** The variables that are needed and not set. */
export function missingOf(variables: readonly Variable[]): Variable[] {
  return variables.filter(({ optional, value }) => !optional && value === undefined)
}

const SECRET_KEY = /secret|token|pass|api-?key|credential/i
/** Shorter texts would blot out half of every log line. */
const MIN_SECRET = 4
/** Values of variables that are surely no secret, and that logs must be able to show. */
const PLAIN = /^(\d{1,5}|true|false|localhost|[\d.]+)$/

/**
 * The texts that logs must not show: what came from variables, what stands under keys that name secrets,
 * the control token, and the passwords in the Redis URL. Longest first, so that one inside another goes too.
 */
export function secretsOf(
  fromVariables: ReadonlySet<string>,
  file: unknown,
  { token, redisUrl = '' }: { token?: string; redisUrl?: string },
): string[] {
  const found = new Set(fromVariables)
  const collect = (value: unknown, isSecret: boolean) => {
    if (typeof value === 'string' && isSecret) found.add(value)
    if (Array.isArray(value)) for (const item of value) collect(item, isSecret)
    if (!isJsonObject(value)) return
    for (const [key, item] of Object.entries(value)) collect(item, SECRET_KEY.test(key))
  }
  collect(file, false)
  if (token !== undefined) found.add(token)
  for (const [, password = ''] of redisUrl.matchAll(/\/\/[^/@\s]*:([^/@\s]+)@/g)) {
    found.add(password)
  }
  return [...found]
    .filter((text) => text.length >= MIN_SECRET && !PLAIN.test(text) && !text.includes('${'))
    .toSorted((a, b) => b.length - a.length)
}
