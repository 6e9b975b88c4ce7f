import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { titleFault } from '../core/approval-title.ts'
import { isJsonObject } from '../core/json.ts'
import { isMatchKey, type MatchKeys, partsOfMatch, type RouteMatch } from '../core/match.ts'
import { mcpServerOf } from '../core/mcp.ts'
import { compilePattern } from '../core/pattern.ts'
import { concurrencyOf, type Route } from '../core/route.ts'
import { skillJsonSchema } from '../core/skill.ts'
import { noSuch, quote } from '../lib/nearest.ts'
import { type Checker, check, findingsOf } from './checker.ts'
import { findSkill } from './find-skill.ts'
import type { GatewayConfig, RoutedSkill } from './gateways.ts'
import { routeSchema } from './schema/route.ts'
import { checkArgs } from './skill-args.ts'
import { listOf, swallowedWords } from './swallowed-words.ts'
import type { Path } from './yaml-file.ts'

/** The objects that routes may refer to. `skills` is undefined until they are known, and then not checked. */
export type RouteWorld = {
  gateways: readonly GatewayConfig[]
  transports: readonly string[]
  /** MCP servers, whose tools are known only after a connection. */
  servers: readonly string[]
  skills?: readonly RoutedSkill[]
}

/** Parses and checks `routes:`. Routes of skills (with warnings instead of errors) come before each `fallback`. */
export function parseRoutes(raw: unknown, world: RouteWorld, checker: Checker): Route[] {
  const { gateways, transports, servers, skills = [] } = world
  const transportOf = (name: string) => gateways.find((gateway) => gateway.name === name)?.transport
  const routes: Route[] = []
  /** The place of each route, for messages. */
  const places = new Map<string, string>()
  const add = (route: Route, place: string) => {
    if (!places.has(route.name)) places.set(route.name, place)
    routes.push(route)
  }
  const conflictOf = (route: Route): string | undefined => {
    const name = quote(route.name)
    const place = places.get(route.name)
    if (place) return `duplicate route name ${name}; it is also used in ${place}`
    const before = route.fallback ? routes : routes.filter(({ fallback }) => !fallback)
    const cover = findCover(route, before, transportOf)
    if (!cover) return undefined
    return `unreachable route ${name}: ${quote(cover.name)} (${places.get(cover.name)}) already takes everything it matches`
  }
  if (raw !== undefined && raw !== null && !Array.isArray(raw)) {
    checker.report(['routes'], 'value', 'expected a list of routes: each starts with "- name:"')
  }
  const given: unknown[] = Array.isArray(raw) ? raw : []
  for (const [at, one] of given.entries()) {
    const path = ['routes', at]
    const read = checker.section(routeSchema, one, path)
    if (!read) continue
    const route = {
      ...read,
      concurrency: concurrencyOf(read),
      ...boltOf(read, dirname(checker.fileOf(path))),
    }
    if (route.bolt !== undefined && !existsSync(route.bolt)) {
      checker.report([...path, 'bolt'], 'value', `there is no file ${route.bolt}`)
    }
    const conflict = conflictOf(route)
    if (conflict) checker.report([...path, 'name'], 'value', conflict)
    checkGateways(route.match, path, world, checker)
    if (world.skills) checkSkill(route, path, world, checker)
    const isLast = at === given.length - 1 && Object.keys(route.match).length === 0
    const swallowed = isLast ? undefined : swallowedWords(route, gateways, skills)
    if (swallowed) {
      const { words, where } = swallowed
      const message = `this route comes before commands of the assistant on ${where.join(', ')}: ${listOf(words)}; set \`fallback: true\` on the route to leave them to the assistant`
      checker.report([...path, 'name'], 'value', message, 'warning')
    }
    add(route, checker.placeOf([...path, 'name']))
  }
  const last = routes.at(-1)
  if (last && Object.keys(last.match).length === 0) routes.splice(-1, 1, { fallback: true, ...last })
  for (const skill of skills) {
    const warn = (message: string) =>
      checker.problems.push({ severity: 'warning', file: `skill ${skill.name}`, message })
    for (const { key, raw } of rawRoutesOf(skill, transports)) {
      const { data: route, issues } = check(routeSchema, raw)
      for (const { path, message } of findingsOf(issues))
        warn(`${[key, ...path.map(String)].join('.')}: ${message}`)
      const conflict = route && conflictOf(route)
      // For a skill's words, `swallowedWords` below warns once, and names the route that takes
      // them.
      if (conflict && !skill.metadata?.prefixes) warn(conflict)
      if (route && !places.has(route.name)) add(route, `skill ${skill.name}`)
    }
    const { prefixes, ref } = skill.metadata ?? {}
    const names = skills.map(({ name }) => name)
    if (
      prefixes &&
      typeof ref === 'string' &&
      !names.includes(ref) &&
      !servers.includes(mcpServerOf(ref) ?? '')
    )
      warn(noSuch('skill', ref, names))
  }
  return routes.toSorted((a, b) => Number(a.fallback ?? false) - Number(b.fallback ?? false))
}

/** A Bolt app handles only Slack messages, but all of them, including events without text. */
function boltOf({ bolt, match }: Route, folder: string): Partial<Route> {
  if (bolt === undefined) return {}
  return { bolt: resolve(folder, bolt), match: { transport: ['slack'], event: ['*'], ...match } }
}

/** Reports conditions of a `match` on gateways and transports that can never be true. */
export function checkGateways(match: RouteMatch, path: Path, world: RouteWorld, checker: Checker): void {
  const { gateways } = world
  const { keys, not } = partsOfMatch(match)
  checkNames(keys, [...path, 'match'], world, checker)
  for (const [at, inner] of not.entries()) checkNames(inner, [...path, 'match', 'not', at], world, checker)
  const patterns = Array.isArray(keys.gateway) ? keys.gateway.map(compilePattern) : []
  const named = gateways.filter(({ name }) => patterns.some((pattern) => pattern.test(name)))
  const [first] = named
  if (!first || named.some(({ enabled }) => enabled)) return
  const message = `gateway ${quote(first.name)} is not started: ${first.why}`
  checker.report([...path, 'match', 'gateway'], 'value', message, 'warning')
}

/** Reports unknown gateways and transports. */
function checkNames(
  keys: MatchKeys,
  path: Path,
  { gateways, transports }: RouteWorld,
  checker: Checker,
): void {
  const names = { gateway: gateways.map(({ name }) => name), transport: transports }
  for (const key of ['gateway', 'transport'] as const) {
    for (const [at, wanted] of Array.isArray(keys[key]) ? keys[key].entries() : []) {
      if (names[key].some((name) => compilePattern(wanted).test(name))) continue
      checker.report([...path, key, at], 'value', noSuch(key, wanted, names[key]))
    }
  }
}

/** Reports an unknown skill, and invalid fixed arguments. Further arguments come with the message. */
function checkSkill(
  { skill: name, args, approval }: Route,
  path: Path,
  { skills = [], servers }: RouteWorld,
  checker: Checker,
): void {
  if (name === undefined) return
  const skill = findSkill(name, path, { skills, servers }, checker)
  if (!skill) return
  const { args: taken } = skill
  const title = approval && approval !== true && taken ? approval.title : undefined
  const fault =
    title !== undefined && taken ? titleFault(title, () => skillJsonSchema({ args: taken })) : undefined
  if (fault !== undefined) checker.report([...path, 'approval', 'title'], 'value', fault)
  if (args) checkArgs(skill, args, path, checker, false)
}

/** The routes in a skill's `metadata.<transport>.route`: keys of a route, or match keys only. */
function rawRoutesOf({ name, metadata = {} }: RoutedSkill, transports: readonly string[]) {
  return transports.flatMap((transport) => {
    const section = Object.hasOwn(metadata, transport) ? metadata[transport] : undefined
    if (!isJsonObject(section) || !Object.hasOwn(section, 'route')) return []
    return [{ key: `metadata.${transport}.route`, raw: completed(section.route, name, transport) }]
  })
}

function completed(route: unknown, skill: string, transport: string): unknown {
  if (!isJsonObject(route)) return route
  const entries = Object.entries(route)
  const rest = Object.fromEntries(entries.filter(([key]) => !isMatchKey(key)))
  const bare = Object.fromEntries(entries.filter(([key]) => isMatchKey(key)))
  const given = isJsonObject(rest.match) ? rest.match : {}
  return { name: `${skill}@${transport}`, ...rest, match: { ...bare, ...given, transport }, skill }
}

/** Placeholder for any text when a glob is matched against another; a private-use character. */
const ANY_TEXT = '\uE000'
/** A glob of literal characters and `*` only. */
const SIMPLE = /^[^/\\?[{][^\\?[{]*$/

/** Finds the first earlier route that matches everything a route matches. In doubt, reports nothing. */
function findCover(
  route: Route,
  earlier: readonly Route[],
  transportOf: (gateway: string) => string | undefined,
): Route | undefined {
  const { transport, gateway } = partsOfMatch(route.match).keys
  const transports = Array.isArray(gateway) ? gateway.map(transportOf) : []
  // A match on gateways implies their transports.
  const isImplied = transport === undefined && transports.length > 0 && !transports.includes(undefined)
  const inner = isImplied ? { ...route.match, transport: transports } : route.match
  return earlier.find((outer) => covers(outer.match, inner))
}

function covers(outer: RouteMatch, inner: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(outer).every(([key, wide]) => {
    const narrow = inner[key]
    if (key === 'not') return isDeepStrictEqual(wide, narrow)
    if (!Array.isArray(wide) || !Array.isArray(narrow)) return narrow === wide
    return narrow.every((value) => wide.some((each) => valueCovers(key, String(each), String(value))))
  })
}

function valueCovers(key: string, wide: string, narrow: string): boolean {
  if (wide === narrow) return true
  if (key === 'prefix') return wide.trim().toLowerCase() === narrow.trim().toLowerCase()
  if (/^\*+$/.test(wide)) return true
  if (!SIMPLE.test(narrow) || (narrow.includes('*') && !SIMPLE.test(wide))) return false
  // A placeholder that only a star matches replaces the inner stars.
  return compilePattern(wide).test(narrow.replaceAll('*', ANY_TEXT))
}
