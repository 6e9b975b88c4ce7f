import type { z } from 'zod'
import { isPublic } from './environment.ts'
import type { Variable } from './variables.ts'
import type { Path } from './yaml-file.ts'

/** Collects the environment variables that the files use, with their paths. */
export function createUsedVariables() {
  const all: Variable[] = []
  const missing = (path: Path) =>
    all.filter(({ optional, value, path: at }) => !optional && !value && isUnder(at, path))
  return {
    add: (variable: Variable) => void all.push(variable),
    /** The required but unset variables under a path. */
    missing,

    /**
     * Whether a missing variable explains an error at a path: because the value, or what contains
     * it, uses the variable.
     */
    explains(errorPath: Path): boolean {
      return missing([]).some(({ path }) => isUnder(path, errorPath) || isUnder(errorPath, path))
    },

    /**
     * Changes the text of a variable in `value` to the number or boolean that an issue says is
     * expected. Returns false if the issue expects neither, the text is neither, or it is not of a
     * variable.
     */
    convertInPlace(value: unknown, issue: z.core.$ZodIssue, base: Path): boolean {
      const at = [...base, ...issue.path]
      const last = issue.path.at(-1)
      if (issue.code !== 'invalid_type' || last === undefined) return false
      if (!all.some(({ path }) => isSame(path, at))) return false
      const parent = issue.path
        .slice(0, -1)
        .reduce<object>((each, step) => Object(Reflect.get(each, step)), Object(value))
      const text = String(Reflect.get(parent, last)).trim()
      if (issue.expected === 'boolean')
        return /^(true|false)$/.test(text) && Reflect.set(parent, last, text === 'true')
      if (issue.expected !== 'number' && issue.expected !== 'int') return false
      return text !== '' && !Number.isNaN(Number(text)) && Reflect.set(parent, last, Number(text))
    },

    /**
     * The names of all variables, whether they are set, and where they are used: `gateways.shop`. A
     * variable is optional if all its uses are.
     */
    names() {
      return [...Map.groupBy(all, ({ name }) => name)].map(([name, uses]) => ({
        name,
        isSet: uses.some(({ value }) => !!value),
        optional: uses.every(({ optional }) => optional),
        usedIn: [...new Set(uses.map(({ path }) => placeOf(path)))],
      }))
    },

    /** The substituted values, for redaction in logs. */
    secrets: () => all.flatMap(({ name, value }) => (value && !isPublic(name, value) ? [value] : [])),
  }
}

/** The section of a path, and the name in it: `gateways.shop`, `model.prices`, `routes`. */
function placeOf(path: Path): string {
  const [section, name] = path
  return typeof name === 'string' ? `${String(section)}.${name}` : String(section)
}

/** Whether a path is `prefix`, or below it. */
function isUnder(path: Path, prefix: Path): boolean {
  return prefix.every((step, index) => step === path[index])
}

function isSame(path: Path, other: Path): boolean {
  return path.length === other.length && isUnder(path, other)
}
