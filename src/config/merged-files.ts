import { isJsonObject, type JsonObject } from '../core/json.ts'
import { quote } from '../lib/nearest.ts'
import type { Part } from './read-files.ts'
import type { Path, Problem } from './yaml-file.ts'

/** All configuration files, merged. */
export type MergedFiles = ReturnType<typeof mergeFiles>

/** Sections that are lists. Files append to them, in order. */
const LISTS = new Set(['routes', 'schedules', 'notify', 'subscriptions', 'tokens'])
/**
 * Mappings that several files may add keys to; `*` is any name. Any other key may be defined only
 * once.
 */
const SHARED = new Set([
  'gateways',
  'mcp',
  'topics',
  'topics.*',
  'topics.*.groups',
  'access',
  'access.roles',
  'daemon',
  'daemon.retention',
  'daemon.retention.gateways',
  'daemon.retention.topics',
])

/** The file an element of a list comes from, and its index there. */
type Origin = { part: Part; index: number }

/**
 * Merges files: lists are concatenated and shared mappings are combined. A key that is defined
 * twice is a problem that names both places.
 */
export function mergeFiles(parts: readonly [Part, ...Part[]]) {
  const [main] = parts
  const problems: Problem[] = []
  const origins = new Map<string, Origin[]>()

  const report = (part: Part, path: Path, message: string) =>
    problems.push(part.yaml.problem(path, 'key', message))

  /** The list `name` of several files. */
  const concatenate = (name: string, owners: readonly Part[]): unknown[] => {
    const found = owners.flatMap((part) => {
      const items = valueIn(part, [name])
      if (Array.isArray(items)) return items.map((item: unknown, index) => ({ item, part, index }))
      report(part, [name], `expected a list, as in ${owners.find((one) => one !== part)?.shown}`)
      return []
    })
    origins.set(name, found)
    return found.map(({ item }) => item)
  }

  /** The merged value at a path. `owners`: the files that have a value there. */
  const merge = (owners: readonly Part[], path: readonly string[]): unknown => {
    const [first = main, ...others] = owners
    const isList = path.length === 1 && LISTS.has(String(path[0]))
    if (others.length === 0) return valueIn(first, path)
    if (isList) return concatenate(String(path[0]), owners)
    if (!isShared(path) || !owners.every((part) => isJsonObject(valueIn(part, path)))) {
      const message = `${quote(String(path.at(-1)))} is already defined in ${placeIn(first, path)}`
      for (const part of others) report(part, path, message)
      return valueIn(first, path)
    }
    const keys = new Set(owners.flatMap((part) => Object.keys(Object(valueIn(part, path)))))
    // Every file has its own `include`, and it is already resolved.
    if (path.length === 0) keys.delete('include')
    return Object.fromEntries(
      [...keys].map((key) => [key, merge(ownersOf(owners, [...path, key]), [...path, key])]),
    )
  }

  const find = createFinder(parts, origins)
  const mappings = parts.filter(({ yaml }) => isJsonObject(yaml.value))
  const value = parts.length > 1 ? merge(mappings, []) : main.yaml.value
  return {
    value: withoutInclude(value),
    parts,
    problems,
    problem(path: Path, what: 'key' | 'value', message: string, severity?: Problem['severity']): Problem {
      const found = find(path)
      return found.part.yaml.problem(found.path, what, message, severity)
    },
    /** The place of a path for messages: `line 4`, or `routes.d/team.yaml:4` with several files. */
    placeOf(path: Path): string {
      const found = find(path)
      return parts.length > 1 ? placeIn(found.part, found.path) : `line ${found.part.yaml.lineOf(found.path)}`
    },
    /** The absolute path of the file that contains a path. */
    fileOf: (path: Path): string => find(path).part.file,
    /** Sorts problems in reading order: by file, then by line. */
    sorted(found: readonly Problem[]): Problem[] {
      const fileOrder = ({ file }: Problem) => parts.findIndex(({ shown }) => shown === file)
      const compare = (a: Problem, b: Problem) =>
        fileOrder(a) - fileOrder(b) || (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0)
      return found.toSorted(compare)
    },
  }
}

/**
 * Makes a function that finds the file of a path, and the path within that file. If no file has the
 * path, it finds the first of the files that have most of its steps.
 */
function createFinder(parts: readonly [Part, ...Part[]], origins: ReadonlyMap<string, readonly Origin[]>) {
  return (path: Path): { part: Part; path: Path } => {
    const [section, index, ...rest] = path
    const origin = typeof index === 'number' ? origins.get(String(section))?.[index] : undefined
    if (origin) return { part: origin.part, path: [String(section), origin.index, ...rest] }
    let owners: readonly Part[] = parts
    for (let depth = 1; depth <= path.length && owners.length > 1; depth += 1) {
      const next = owners.filter((part) => valueIn(part, path.slice(0, depth)) !== undefined)
      if (next.length === 0) break
      owners = next
    }
    return { part: owners[0] ?? parts[0], path }
  }
}

/** The value at a path of one file. */
function valueIn({ yaml }: Part, path: Path): unknown {
  return valueAt(yaml.value, path)
}

/**
 * The files that define a path. An empty section (`null`) counts only if no other file defines it.
 */
function ownersOf(owners: readonly Part[], path: Path): Part[] {
  const having = owners.filter((part) => valueIn(part, path) !== undefined)
  const defining = having.filter((part) => valueIn(part, path) !== null)
  return defining.length > 0 ? defining : having.slice(0, 1)
}

/** Whether several files may add keys to the mapping at a path. */
function isShared(path: readonly string[]): boolean {
  const shape = path.map((step, depth) => (path[0] === 'topics' && depth === 1 ? '*' : step))
  return path.length === 0 || SHARED.has(shape.join('.'))
}

function placeIn({ shown, yaml }: Part, path: Path): string {
  return `${shown}:${yaml.lineOf(path)}`
}

function valueAt(value: unknown, path: Path): unknown {
  let found = value
  for (const step of path) {
    const hasStep = typeof found === 'object' && found !== null && Object.hasOwn(found, step)
    found = hasStep ? Reflect.get(Object(found), step) : undefined
  }
  return found
}

/** Removes `include`, which is already resolved. */
function withoutInclude(value: unknown): unknown {
  if (!isJsonObject(value)) return value
  const { include: _, ...rest }: JsonObject = value
  return rest
}
