import type { Environment } from './environment.ts'
import { isRecord, type Path } from './yaml-tree.ts'

/** One `${…}` in a text. `optional`: it has a default. `value`: what the environment says; empty is unset. */
export type Variable = { path: Path; name: string; optional: boolean; value?: string }

export type Interpolated = {
  value: unknown
  variables: Variable[]
  /** Places with a `${` that is no variable. */
  malformed: { path: Path; text: string }[]
}

const TOKEN = /\$?\$\{[^}]*\}?/g
const VARIABLE = /^\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}$/

/**
 * Puts the environment into every text of a value: `${NAME}`, and `${NAME:-default}` where NAME may be
 * unset or empty. `$${` is a plain `${`. A variable that is missing leaves nothing; `variables` tells.
 */
export function interpolate(value: unknown, env: Environment, base: Path = []): Interpolated {
  const variables: Variable[] = []
  const malformed: Interpolated['malformed'] = []

  const visit = (current: unknown, path: Path): unknown => {
    if (typeof current === 'string') return current.includes('${') ? fill(current, path) : current
    if (Array.isArray(current)) return current.map((item, index) => visit(item, [...path, index]))
    if (!isRecord(current)) return current
    return Object.fromEntries(
      Object.entries(current).map(([key, item]) => [key, visit(item, [...path, key])]),
    )
  }

  const fill = (text: string, path: Path): string =>
    text.replaceAll(TOKEN, (token) => {
      if (token.startsWith('$$')) return token.slice(1)
      const [, name, fallback] = VARIABLE.exec(token) ?? []
      if (name === undefined) {
        malformed.push({ path, text: token })
        return token
      }
      const found = Object.hasOwn(env, name) ? env[name] : undefined
      variables.push({ path, name, optional: fallback !== undefined, ...(found ? { value: found } : {}) })
      return found || fallback || ''
    })

  return { value: visit(value, base), variables, malformed }
}

/** The variables that are needed and not set. */
export function missingOf(variables: readonly Variable[]): Variable[] {
  return variables.filter(({ optional, value }) => !optional && value === undefined)
}
