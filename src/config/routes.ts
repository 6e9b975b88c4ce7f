import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { titleFault } from '../core/approval-title.ts'
import { INTERNAL_SKILLS } from '../core/internal-skills.ts'
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
import { findCover } from './route-cover.ts'
import { routeSchema } from './route-schema.ts'
import { checkArgs } from './skill-args.ts'
import { listOf, swallowedWords } from './swallowed-words.ts'
import type { Path } from './yaml-file.ts'

/**
 * What routes may refer to. `skills` is absent until they are known; until then, names of skills
 * are not checked.
 */
export type RouteContext = {
  gateways: readonly GatewayConfig[]
  transports: readonly string[]
  /** MCP servers, whose tools are known only after a connection. */
  servers: readonly string[]
  skills?: readonly RoutedSkill[]
}

type RouteList = ReturnType<typeof createRouteList>

/**
 * Parses and checks `routes:`. Routes of skills (with warnings instead of errors) come before each
 * `fallback`.
 */
export function parseRoutes(raw: unknown, context: RouteContext, checker: Checker): Route[] {
  const list = createRouteList(context)
  addFileRoutes(raw, list, context, checker)
  for (const skill of context.skills ?? []) addSkillRoutes(skill, list, context, checker)
  return inOrder(list.routes, (route) => route)
}

/** Sorts routes by the order in which they get messages: each `fallback` comes last. */
function inOrder<T>(items: readonly T[], routeOf: (item: T) => Route): T[] {
  const isFallback = (item: T) => routeOf(item).fallback ?? false
  return items.toSorted((a, b) => Number(isFallback(a)) - Number(isFallback(b)))
}

/** The routes so far, with their places. */
function createRouteList({ gateways }: RouteContext) {
  const transportOf = (name: string) => gateways.find((gateway) => gateway.name === name)?.transport
  const routes: Route[] = []
  /** Where each name is used, for messages. Names of internal skills are taken from the start. */
  const places = new Map<string, string>(INTERNAL_SKILLS.map((name) => [name, 'Trivium']))
  return {
    routes,
    has: (name: string) => places.has(name),
    add(route: Route, place: string): void {
      if (!places.has(route.name)) places.set(route.name, place)
      routes.push(route)
    },
    /**
     * Why a route can never be used: its name is taken, or an earlier route matches everything it
     * matches. `cover`: that route.
     */
    conflictOf(route: Route): { message: string; cover?: Route } | undefined {
      const name = quote(route.name)
      const place = places.get(route.name)
      if (place) return { message: `duplicate route name ${name}; it is also used in ${place}` }
      const earlier = route.fallback ? routes : routes.filter(({ fallback }) => !fallback)
      const cover = findCover(route, earlier, transportOf)
      if (!cover) return undefined
      const coverPlace = `${quote(cover.name)} (${places.get(cover.name)})`
      return {
        message: `unreachable route ${name}: ${coverPlace} already takes everything it matches`,
        cover,
      }
    },
  }
}

function addFileRoutes(raw: unknown, list: RouteList, context: RouteContext, checker: Checker): void {
  if (raw !== undefined && raw !== null && !Array.isArray(raw)) {
    checker.report(['routes'], 'value', 'expected a list of routes: each starts with "- name:"')
  }
  const items: unknown[] = Array.isArray(raw) ? raw : []
  const parsed = items.flatMap((item, index) => {
    const path = ['routes', index]
    const route = parseFileRoute(item, path, checker)
    if (!route) return []
    const isCatchAll = index === items.length - 1 && Object.keys(route.match).length === 0
    return [{ path, route: isCatchAll ? { fallback: true, ...route } : route }]
  })
  const fileRoutes = parsed.map(({ route }) => route)
  for (const { path, route } of inOrder(parsed, (one) => one.route)) {
    const conflict = list.conflictOf(route)
    // A fallback is for what is left over. Nothing is left if a route below it in the file takes
    // all.
    const isLeftOver = conflict?.cover && fileRoutes.indexOf(conflict.cover) > fileRoutes.indexOf(route)
    if (conflict)
      checker.report([...path, 'name'], 'value', conflict.message, isLeftOver ? 'warning' : 'error')
    list.add(route, checker.placeOf([...path, 'name']))
  }
  for (const { path, route } of parsed) {
    checkGateways(route.match, path, context, checker)
    if (context.skills) checkSkill(route, path, context, checker)
    warnOfSwallowedWords(route, path, context, checker)
  }
}

/** A route of the file with its defaults. Undefined with invalid keys, which are reported. */
function parseFileRoute(item: unknown, path: Path, checker: Checker): Route | undefined {
  const parsed = checker.section(routeSchema, item, path)
  if (!parsed) return undefined
  const concurrency = concurrencyOf(parsed)
  const route = { ...parsed, concurrency, ...boltOf(parsed, dirname(checker.fileOf(path))) }
  if (route.bolt !== undefined && !existsSync(route.bolt)) {
    checker.report([...path, 'bolt'], 'value', `there is no file ${route.bolt}`)
  }
  return route
}

/** Warns about a route that takes words of the assistant. */
function warnOfSwallowedWords(
  route: Route,
  path: Path,
  { gateways, skills = [] }: RouteContext,
  checker: Checker,
): void {
  const swallowed = swallowedWords(route, gateways, skills)
  if (!swallowed) return
  const { words, where } = swallowed
  const what = `this route comes before words of the assistant on ${where.join(', ')}: ${listOf(words)}`
  const todo = 'set `fallback: true` on the route to leave them to the assistant'
  checker.report([...path, 'name'], 'value', `${what}; ${todo}`, 'warning')
}

/**
 * Adds the routes in the metadata of a skill. For a skill with words (`prefixes`), also checks that
 * the skill that they run (`ref`) exists. Mistakes are warnings.
 */
function addSkillRoutes(
  skill: RoutedSkill,
  list: RouteList,
  { transports, servers, skills = [] }: RouteContext,
  checker: Checker,
): void {
  const warn = (message: string) =>
    checker.problems.push({ severity: 'warning', file: `skill ${skill.name}`, message })
  const { prefixes, ref } = skill.metadata ?? {}
  for (const { key, raw } of rawRoutesOf(skill, transports)) {
    const { data: route, issues } = check(routeSchema, raw)
    for (const { path, message } of findingsOf(issues))
      warn(`${[key, ...path.map(String)].join('.')}: ${message}`)
    const conflict = route && list.conflictOf(route)
    // `warnOfSwallowedWords` warns once about all words that a route takes.
    if (conflict && !prefixes) warn(conflict.message)
    if (route && !list.has(route.name)) list.add(route, `skill ${skill.name}`)
  }
  if (!prefixes || typeof ref !== 'string') return
  const names = skills.map(({ name }) => name)
  const isKnown = names.includes(ref) || servers.includes(mcpServerOf(ref) ?? '')
  if (!isKnown) warn(noSuch('skill', ref, names))
}

/**
 * The absolute path of a Bolt app, and its match: by default all Slack messages, including events
 * without text.
 */
function boltOf({ bolt, match }: Route, folder: string): Partial<Route> {
  if (bolt === undefined) return {}
  return { bolt: resolve(folder, bolt), match: { transport: ['slack'], event: ['*'], ...match } }
}

/** Reports conditions of a `match` on gateways and transports that can never be true. */
export function checkGateways(match: RouteMatch, path: Path, context: RouteContext, checker: Checker): void {
  const { gateways } = context
  const { keys, not } = partsOfMatch(match)
  checkNames(keys, [...path, 'match'], context, checker)
  for (const [index, excluded] of not.entries())
    checkNames(excluded, [...path, 'match', 'not', index], context, checker)
  const patterns = Array.isArray(keys.gateway) ? keys.gateway.map(compilePattern) : []
  const matching = gateways.filter(({ name }) => patterns.some((pattern) => pattern.test(name)))
  const [first] = matching
  if (!first || matching.some(({ enabled }) => enabled)) return
  const message = `gateway ${quote(first.name)} is not started: ${first.why}`
  checker.report([...path, 'match', 'gateway'], 'value', message, 'warning')
}

/** Reports unknown gateways and transports. */
function checkNames(
  keys: MatchKeys,
  path: Path,
  { gateways, transports }: RouteContext,
  checker: Checker,
): void {
  const names = { gateway: gateways.map(({ name }) => name), transport: transports }
  for (const key of ['gateway', 'transport'] as const) {
    const patterns = Array.isArray(keys[key]) ? keys[key] : []
    for (const [index, pattern] of patterns.entries()) {
      if (names[key].some((name) => compilePattern(pattern).test(name))) continue
      checker.report([...path, key, index], 'value', noSuch(key, pattern, names[key]))
    }
  }
}

/**
 * Reports an unknown skill, and invalid fixed arguments. Further arguments come with the message.
 */
function checkSkill(
  { skill: name, args, approval }: Route,
  path: Path,
  { skills = [], servers }: RouteContext,
  checker: Checker,
): void {
  if (name === undefined) return
  const skill = findSkill(name, path, { skills, servers }, checker)
  if (!skill) return
  const { args: schema } = skill
  const title = approval && approval !== true ? approval.title : undefined
  const fault =
    title !== undefined && schema ? titleFault(title, () => skillJsonSchema({ args: schema })) : undefined
  if (fault !== undefined) checker.report([...path, 'approval', 'title'], 'value', fault)
  if (args) checkArgs(skill, args, path, checker, false)
}

/** The routes in a skill's `metadata.<transport>.route`: keys of a route, or match keys only. */
function rawRoutesOf({ name, metadata = {} }: RoutedSkill, transports: readonly string[]) {
  return transports.flatMap((transport) => {
    const section = Object.hasOwn(metadata, transport) ? metadata[transport] : undefined
    if (!isJsonObject(section) || !Object.hasOwn(section, 'route')) return []
    return [{ key: `metadata.${transport}.route`, raw: withMatch(section.route, name, transport) }]
  })
}

/**
 * A route of a skill with name, transport and skill. Match keys at its top level move into `match`.
 */
function withMatch(route: unknown, skill: string, transport: string): unknown {
  if (!isJsonObject(route)) return route
  const entries = Object.entries(route)
  const routeKeys = Object.fromEntries(entries.filter(([key]) => !isMatchKey(key)))
  const matchKeys = Object.fromEntries(entries.filter(([key]) => isMatchKey(key)))
  const match = isJsonObject(routeKeys.match) ? routeKeys.match : {}
  return { name: `${skill}@${transport}`, ...routeKeys, match: { ...matchKeys, ...match, transport }, skill }
}
