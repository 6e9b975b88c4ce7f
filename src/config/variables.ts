import { isJsonObject } from '../core/json.ts'
import type { Environment } from './environment.ts'
import type { Path } from './yaml-file.ts'

/** One `${…}` in a text. */
export type Variable = {
  path: Path
  name: string
  /** Whether it has a default. */
  optional: boolean
  /** Its value in the environment; undefined if unset or empty. */
  value: string | undefined
}

/** A variable, or `$${`. Also an invalid or unclosed variable, which is reported. */
const TOKEN = /\$?\$\{[^}]*\}?/g
const VARIABLE = /^\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}$/

/** Maximum characters of an invalid variable in a message. */
const LONGEST_SHOWN = 40

/**
 * Makes a function that substitutes environment variables in every text of a value: `${NAME}` and
 * `${NAME:-default}`; `$${` is a literal `${`. Calls `onVariable` for each variable, and
 * `onInvalid` for invalid syntax, which stays as it is. `unset`: the value of a variable that is
 * not set.
 */
export function createSubstitution(
  env: Environment,
  onVariable: (variable: Variable) => void,
  onInvalid: (path: Path, message: string) => void,
  unset = '',
) {
  const fillToken = (token: string, path: Path): string => {
    if (token.startsWith('$$')) return token.slice(1)
    const [, name, fallback] = VARIABLE.exec(token) ?? []
    if (name === undefined) {
      const shown = token.length > LONGEST_SHOWN ? `${token.slice(0, LONGEST_SHOWN - 1)}…` : token
      const instead = `write \${NAME} or \${NAME:-default}, or $\${ for a literal \${`
      onInvalid(path, `${shown} is not a variable; ${instead}`)
      return token
    }
    const value = (Object.hasOwn(env, name) && env[name]) || undefined
    onVariable({ path, name, optional: fallback !== undefined, value })
    return value ?? fallback ?? unset
  }
  const fill = (value: unknown, path: Path): unknown => {
    if (typeof value === 'string') return value.replaceAll(TOKEN, (token) => fillToken(token, path))
    if (Array.isArray(value)) return value.map((item, index) => fill(item, [...path, index]))
    if (!isJsonObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fill(item, [...path, key])]))
  }
  return fill
}

/** The error message for a required variable that is not set. */
export function notSet({ name }: Variable): string {
  return `the variable ${name} is not set; set it, or write \${${name}:-default}`
}
