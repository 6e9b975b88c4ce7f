import { isAlias, isMap, isPair, isScalar, isSeq, type Node, type Pair, parseAllDocuments } from 'yaml'
import { type Problem, quote } from './problem.ts'
import type { Source } from './source.ts'

export type Path = readonly PropertyKey[]

/** A YAML file as plain values, with the place of each. */
export type Tree = {
  value: unknown
  /** The offset of the value at a path, or of its key; of the nearest parent that is there otherwise. */
  offsetOf(path: Path, what: 'key' | 'value'): number
  /** Where the value at a path ends. */
  endOf(path: Path): number
}

type Place = { key?: number; value: number; end: number }

/** Bounds what aliases can blow up to (the "billion laughs"), and what the checks after this must look at. */
const MAX_VALUES = 50_000
const MAX_DEPTH = 40
const MAX_SYNTAX_ERRORS = 5

const MESSAGES: Record<string, string> = {
  TAB_AS_INDENT: 'tabs are not allowed as indentation; use spaces',
  RESOURCE_EXHAUSTION: `the file is nested deeper than ${MAX_DEPTH} levels`,
  BLOCK_AS_IMPLICIT_KEY: 'a mapping cannot start in the middle of a line; is a ": " in an unquoted text?',
}

class Stop extends Error {}

/** Parses YAML 1.2 (with `<<` merges) into values and places. Problems instead of throws, all at once. */
export function parseTree(source: Source): { tree?: Tree; problems: Problem[] } {
  const documents = parseAllDocuments(source.text, {
    prettyErrors: false,
    uniqueKeys: false,
    logLevel: 'silent',
  })
  const [first, second] = Array.isArray(documents) ? documents : []
  if (!first) return { tree: createTree(null, new Map()), problems: [] }
  const syntax = [...first.errors, ...first.warnings]
  if (syntax.length > 0) return { problems: syntaxProblems(source, syntax) }
  if (second) {
    return { problems: [source.problem(second.range[0], 'a second document; the file must hold only one')] }
  }
  return convertDocument(source, first.contents)
}

function syntaxProblems(
  source: Source,
  errors: readonly { code: string; message: string; pos: [number, number] }[],
): Problem[] {
  const byLine = new Map<number, Problem>()
  for (const { code, message, pos } of errors.slice(0, 100)) {
    const known = MESSAGES[code]
    const problem = source.problem(pos[0], known ?? message.charAt(0).toLowerCase() + message.slice(1))
    if (code === 'RESOURCE_EXHAUSTION') return [problem]
    // One mistake often makes several errors on its line; the first tells.
    if (!byLine.has(problem.line ?? 0)) byLine.set(problem.line ?? 0, problem)
  }
  return [...byLine.values()].slice(0, MAX_SYNTAX_ERRORS)
}

function convertDocument(source: Source, contents: unknown): { tree?: Tree; problems: Problem[] } {
  const problems: Problem[] = []
  const places = new Map<string, Place>()
  const anchors = new Map<string, Node>()
  const open = new Set<Node>()
  let values = 0
  let outermostAlias: Node | undefined

  const report = (node: Node | null | undefined, message: string) => {
    problems.push(source.problem(node?.range?.[0] ?? 0, message))
  }

  const convert = (node: unknown, path: Path, key?: number): unknown => {
    if (!isNode(node)) {
      places.set(placeKey(path), { ...(key === undefined ? {} : { key }), value: key ?? 0, end: key ?? 0 })
      return null
    }
    if (++values > MAX_VALUES) stop(node, `the file holds more than ${MAX_VALUES} values, aliases counted`)
    if (path.length > MAX_DEPTH) stop(node, `the file is nested deeper than ${MAX_DEPTH} levels`)
    const [value = 0, end = 0] = node.range ?? []
    if (!isAlias(node)) places.set(placeKey(path), { ...(key === undefined ? {} : { key }), value, end })
    if (isAlias(node)) return convertAlias(node, path, key)
    if (node.anchor) anchors.set(node.anchor, node)
    open.add(node)
    try {
      if (isMap(node)) return convertMap(node.items, path)
      if (isSeq(node)) return node.items.map((item, index) => convert(item, [...path, index]))
      return isScalar(node) ? node.value : null
    } finally {
      open.delete(node)
    }
  }

  const convertAlias = (node: Node & { source: string }, path: Path, key?: number): unknown => {
    const target = anchors.get(node.source)
    if (target && !open.has(target)) {
      const before = outermostAlias
      outermostAlias ??= node
      const value = convert(target, path, key)
      outermostAlias = before
      return value
    }
    const name = quote(`*${node.source}`)
    report(node, target ? `${name} refers to itself` : `${name} refers to no anchor before it`)
    return null
  }

  const convertMap = (items: readonly unknown[], path: Path): unknown => {
    const seen = new Map<string, number>()
    const merged: Record<string, unknown> = {}
    const own: Record<string, unknown> = {}
    for (const pair of items) {
      if (!isPair(pair)) continue
      const name = keyOf(pair)
      if (name === undefined) continue
      const at = offsetOfKey(pair)
      const before = seen.get(name)
      if (before !== undefined) {
        problems.push(
          source.problem(at, `duplicate key ${quote(name)}; it is already on line ${lineOf(before)}`),
        )
        continue
      }
      seen.set(name, at)
      if (name === '<<') Object.assign(merged, mergeOf(pair, path))
      else own[name] = convert(pair.value, [...path, name], at)
    }
    return { ...merged, ...own }
  }

  const keyOf = (pair: Pair): string | undefined => {
    const { key } = pair
    if (!isScalar(key) || typeof key.value === 'object') {
      report(isNode(key) ? key : undefined, 'a key must be plain text')
      return undefined
    }
    const name = String(key.value)
    if (name !== '__proto__') return name
    report(key, 'the key "__proto__" is not allowed')
    return undefined
  }

  const mergeOf = (pair: Pair, path: Path): Record<string, unknown> => {
    const value = convert(pair.value, [...path, '<<'], offsetOfKey(pair))
    const parts = Array.isArray(value) ? value.toReversed() : [value]
    if (parts.every(isRecord)) return Object.assign({}, ...parts)
    report(isNode(pair.value) ? pair.value : undefined, '"<<" merges mappings only')
    return {}
  }

  const lineOf = (offset: number) => source.lines.linePos(offset).line

  const stop = (node: Node, message: string): never => {
    // Inside an alias the fault is where it is used, not where its text stands.
    report(outermostAlias ?? node, message)
    throw new Stop()
  }

  try {
    const value = convert(contents, [])
    return problems.length > 0 ? { problems } : { tree: createTree(value, places), problems }
  } catch (error) {
    if (error instanceof Stop) return { problems }
    throw error
  }
}

function createTree(value: unknown, places: ReadonlyMap<string, Place>): Tree {
  const placeOf = (path: Path): Place => {
    for (let length = path.length; length >= 0; length--) {
      const place = places.get(placeKey(path.slice(0, length)))
      if (place) return place
    }
    return { value: 0, end: 0 }
  }
  return {
    value,
    offsetOf(path, what) {
      const place = placeOf(path)
      return what === 'key' ? (place.key ?? place.value) : place.value
    },
    endOf: (path) => placeOf(path).end,
  }
}

/** `dataDir` and `data-dir` are the same place: the schema may know a key by its other spelling. */
function placeKey(path: Path): string {
  return path.map((step) => kebab(String(step))).join('\0')
}

/** True where `path` is `prefix` or lies under it, whichever way the keys are spelled. */
export function isUnder(path: Path, prefix: Path): boolean {
  return prefix.every((step, index) => kebab(String(step)) === kebab(String(path[index])))
}

/** `dataDir` as `data-dir`. */
export function kebab(name: string): string {
  return name.replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase()
}

function offsetOfKey(pair: Pair): number {
  return isNode(pair.key) ? (pair.key.range?.[0] ?? 0) : 0
}

function isNode(value: unknown): value is Node {
  return isScalar(value) || isMap(value) || isSeq(value) || isAlias(value)
}

/** True for what a YAML mapping becomes. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
