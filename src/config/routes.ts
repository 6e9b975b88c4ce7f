import { compilePattern } from '../core/pattern.ts'
import { type Route, type RouteMatch, routeSchema } from '../core/route.ts'
import type { Checker } from './checker.ts'
import type { GatewayConfig } from './gateways.ts'
import { hint, quote } from './problem.ts'
import { checkArgs } from './route-args.ts'
import { type RoutedSkill, routesOfSkills } from './skill-routes.ts'
import { type Coverage, createCoverage } from './unreachable.ts'
import { isRecord, type Path } from './yaml-tree.ts'

/** What routes may refer to. `skills` is undefined before the skills are known: then they are not checked. */
export type RouteWorld = {
  gateways: readonly GatewayConfig[]
  transports: readonly string[]
  skills?: readonly RoutedSkill[]
}

const MAX_ROUTES = 500
/** In longer lists nobody looks for doubles. */
const MAX_LISTED = 50

/** Parses the section `routes:` and checks each route against the gateways, the skills and its neighbours. */
export function parseRoutes(raw: unknown, world: RouteWorld, check: Checker): Route[] {
  if (raw === undefined || raw === null) return []
  if (!Array.isArray(raw)) {
    check.report(['routes'], 'value', 'expected a list of routes: each starts with "- name:"')
    return []
  }
  if (raw.length > MAX_ROUTES) {
    check.report(['routes', MAX_ROUTES], 'value', `more than ${MAX_ROUTES} routes`)
    return []
  }
  const coverage = createCoverage(transportIn(world.gateways))
  const parsed = raw.map((one, index) => check.section(routeSchema, one, ['routes', index]))
  const index = new Map<string, number>()
  const before: Route[] = []
  for (const [at, route] of parsed.entries()) {
    const path = ['routes', at]
    const known = route ?? partOf(raw[at])
    if (!known) continue
    checkName(known, at, index, check)
    checkGateways(known, path, world, check)
    checkSkill(known, path, world, check)
    if (!route) continue
    checkArgs(
      route,
      path,
      world.skills?.find(({ name }) => name === route.skill),
      check,
    )
    checkLists(route, path, coverage, check)
    checkReach(route, path, before, index, coverage, check)
    before.push(route)
  }
  return before
}

/** Of a route with errors, the names alone, so that a mistake in one place does not hide those in others. */
function partOf(raw: unknown): Route | undefined {
  if (!isRecord(raw)) return undefined
  const { name, skill, match } = raw
  const { gateway, transport } = isRecord(match) ? match : {}
  const part = routeSchema.safeParse({ name, skill, match: { gateway, transport } })
  return part.success ? part.data : undefined
}

function checkName(route: Route, at: number, index: Map<string, number>, check: Checker): void {
  const other = index.get(route.name)
  if (other === undefined) index.set(route.name, at)
  else {
    const line = check.lineOf(['routes', other, 'name'])
    check.report(
      ['routes', at, 'name'],
      'value',
      `duplicate route name ${quote(route.name)}; line ${line} has it too`,
    )
  }
}

function checkGateways(route: Route, path: Path, world: RouteWorld, check: Checker): void {
  const names = world.gateways.map((gateway) => gateway.name)
  checkNames(route.match, 'gateway', names, path, check)
  checkNames(route.match, 'transport', world.transports, path, check)
  for (const [place, wanted] of placesOf(route.match, 'gateway', path)) {
    const meant = world.gateways.filter((gateway) => compilePattern(wanted).test(gateway.name))
    checkTransport(route, path, meant, check)
    if (meant.length === 0 || meant.some((gateway) => gateway.enabled)) continue
    const [first] = meant
    check.report(place, 'value', `gateway ${quote(wanted)} is not started (${first?.why})`, 'warning')
  }
}

/** A gateway has one transport: asking for another one as well matches nothing. */
function checkTransport(route: Route, path: Path, meant: readonly GatewayConfig[], check: Checker): void {
  const wanted = route.match.transport
  const [first] = meant
  if (!Array.isArray(wanted) || !first) return
  const fits = wanted.some((each: string) =>
    meant.some(({ transport }) => compilePattern(each).test(transport)),
  )
  if (fits) return
  const message = `nothing can match: gateway ${quote(first.name)} is a ${first.transport}`
  check.report([...path, 'match', 'transport'], 'value', message)
}

/** In a list, a value that another one covers does nothing. */
function checkLists(route: Route, path: Path, coverage: Coverage, check: Checker): void {
  for (const [key, wanted] of Object.entries(route.match)) {
    if (typeof wanted === 'boolean' || wanted.length > MAX_LISTED) continue
    for (const [at, value] of wanted.entries()) {
      const cover = wanted.find(
        (other, index) => index !== at && isShadow(coverage, key, other, value, index < at),
      )
      if (cover === undefined) continue
      const message = `${quote(value)} does nothing: ${quote(cover)} in the same list matches it too`
      check.report([...path, 'match', key, at], 'value', message, 'warning')
    }
  }
}

/** Of two that cover each other only the later one is told. */
function isShadow(
  coverage: Coverage,
  key: string,
  wide: string,
  narrow: string,
  isEarlier: boolean,
): boolean {
  const { valueCovers } = coverage
  return valueCovers(key, wide, narrow) && (isEarlier || !valueCovers(key, narrow, wide))
}

function checkNames(
  match: RouteMatch,
  key: string,
  names: readonly string[],
  path: Path,
  check: Checker,
): void {
  for (const [place, wanted] of placesOf(match, key, path)) {
    const pattern = compilePattern(wanted)
    if (names.some((name) => pattern.test(name))) continue
    const isName = pattern.kind === 'literal'
    const message = isName
      ? `there is no ${key} ${quote(wanted)}${hint(wanted, names)}`
      : `no ${key} matches ${quote(wanted)}`
    check.report(place, 'value', message)
  }
}

/** Each pattern of a key with its path, be it written alone or in a list. */
function placesOf(match: RouteMatch, key: string, path: Path): [Path, string][] {
  const wanted = match[key]
  if (!Array.isArray(wanted)) return []
  return wanted.map((each: string, at) => [[...path, 'match', key, at], each])
}

function checkSkill(route: Route, path: Path, world: RouteWorld, check: Checker): void {
  const skills = world.skills?.map(({ name }) => name)
  if (!skills || skills.includes(route.skill)) return
  check.report(
    [...path, 'skill'],
    'value',
    `there is no skill ${quote(route.skill)}${hint(route.skill, skills)}`,
  )
}

function checkReach(
  route: Route,
  path: Path,
  before: readonly Route[],
  index: ReadonlyMap<string, number>,
  coverage: Coverage,
  check: Checker,
): void {
  const cover = coverage.coveringRoute(route, before)
  if (!cover) return
  const line = check.lineOf(['routes', index.get(cover.name) ?? 0, 'name'])
  check.report(
    [...path, 'name'],
    'value',
    `unreachable route ${quote(route.name)}: ${quote(cover.name)} on line ${line} already takes all that it matches`,
  )
}

/**
 * All routes in their order: the file's, then those that skills bring, and last the file's final route where that
 * one takes everything; before it, because after it none of them could ever run.
 */
export function withSkillRoutes(
  own: readonly Route[],
  skills: readonly RoutedSkill[],
  world: RouteWorld,
  check: Checker,
): Route[] {
  const last = own.at(-1)
  const rest = last && Object.keys(last.match).length === 0 ? [last] : []
  const first = own.slice(0, own.length - rest.length)
  return [...first, ...addedRoutes(first, rest, skills, world, check), ...rest]
}

/**
 * The routes that skills bring. What is broken, has the name of a route that is there, or can never run, is a
 * warning: a skill must not stop the daemon.
 */
function addedRoutes(
  first: readonly Route[],
  rest: readonly Route[],
  skills: readonly RoutedSkill[],
  world: RouteWorld,
  check: Checker,
): Route[] {
  const { routes, problems } = routesOfSkills(skills, world.transports)
  const coverage = createCoverage(transportIn(world.gateways))
  const added: Route[] = []
  const warn = (route: Route, message: string) =>
    problems.push({ severity: 'warning', file: `skill ${route.skill}`, message })
  for (const route of routes) {
    const before = [...first, ...added]
    if ([...before, ...rest].some(({ name }) => name === route.name)) {
      warn(route, `its route ${quote(route.name)} is left out: there is a route with that name`)
      continue
    }
    const cover = coverage.coveringRoute(route, before)
    if (cover)
      warn(route, `its route ${quote(route.name)} never runs: ${quote(cover.name)} takes all that it matches`)
    added.push(route)
  }
  check.problems.push(...problems)
  return added
}

function transportIn(gateways: readonly GatewayConfig[]): (name: string) => string | undefined {
  return (name) => gateways.find((gateway) => gateway.name === name)?.transport
}
