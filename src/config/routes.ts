import { compilePattern } from '../core/pattern.ts'
import { type Route, routeSchema } from '../core/route.ts'
import { noSuch, quote } from '../lib/nearest.ts'
import { type Checker, check, findingsOf } from './checker.ts'
import type { GatewayConfig } from './gateways.ts'
import { type RoutedSkill, withSkillRoutes } from './skill-routes.ts'
import { createFindCover } from './unreachable.ts'
import type { Path } from './yaml-file.ts'

/** What routes may refer to. `skills` is undefined before the skills are known: then they are not checked. */
export type RouteWorld = {
  gateways: readonly GatewayConfig[]
  transports: readonly string[]
  skills?: readonly RoutedSkill[]
}

/**
 * Parses the section `routes:` and checks each route against the gateways, the skills and its neighbours. Gives all routes
 * in their order, with those that skills bring.
 */
export function parseRoutes(raw: unknown, world: RouteWorld, checker: Checker): Route[] {
  const { gateways, transports, skills } = world
  const findCover = createFindCover((name) => gateways.find((gateway) => gateway.name === name)?.transport)
  /** The routes so far, and where each stands in the file. */
  const before: Route[] = []
  const places = new Map<string, number>()
  if (raw !== undefined && raw !== null && !Array.isArray(raw)) {
    checker.report(['routes'], 'value', 'expected a list of routes: each starts with "- name:"')
  }
  for (const [at, one] of (Array.isArray(raw) ? raw : []).entries()) {
    const path = ['routes', at]
    const route = checker.section(routeSchema, one, path)
    if (!route) continue
    const lineOf = (name: string) => checker.lineOf(['routes', places.get(name) ?? 0, 'name'])
    const report = (message: string) => checker.report([...path, 'name'], 'value', message)
    const { name } = route
    const cover = findCover(route, before)
    if (places.has(name)) report(`duplicate route name ${quote(name)}; line ${lineOf(name)} has it too`)
    else if (cover) {
      const first = `${quote(cover.name)} on line ${lineOf(cover.name)}`
      report(`unreachable route ${quote(name)}: ${first} already takes all that it matches`)
    }
    checkGateways(route, path, world, checker)
    if (skills) checkSkill(route, path, skills, checker)
    if (!places.has(name)) places.set(name, at)
    before.push(route)
  }
  const { routes, problems } = withSkillRoutes(before, skills ?? [], transports, findCover)
  checker.problems.push(...problems)
  return routes
}

function checkGateways({ match }: Route, path: Path, world: RouteWorld, checker: Checker): void {
  const { gateways, transports } = world
  const fits = (key: 'gateway' | 'transport', value: string) =>
    !Array.isArray(match[key]) || match[key].some((each: string) => compilePattern(each).test(value))
  const names = { gateway: gateways.map(({ name }) => name), transport: transports }
  for (const key of ['gateway', 'transport'] as const) {
    for (const [at, wanted] of Array.isArray(match[key]) ? match[key].entries() : []) {
      if (names[key].some((name) => compilePattern(wanted).test(name))) continue
      checker.report([...path, 'match', key, at], 'value', noSuch(key, wanted, names[key]))
    }
  }
  if (match.gateway === undefined) return
  const named = gateways.filter(({ name }) => fits('gateway', name))
  const [first] = named
  const at = [...path, 'match', 'gateway']
  if (!first) return
  if (!named.some(({ transport }) => fits('transport', transport))) {
    const message = `nothing can match: gateway ${quote(first.name)} is a ${first.transport}`
    checker.report([...path, 'match', 'transport'], 'value', message)
  } else if (named.every(({ enabled }) => !enabled)) {
    checker.report(at, 'value', `gateway ${quote(first.name)} is not started: ${first.why}`, 'warning')
  }
}

/**
 * Reports a skill that there is not, and fixed arguments that it does not take: each message would be refused for them.
 * Arguments that are missing come with the message, and are not looked at.
 */
function checkSkill(
  { skill: name, args }: Route,
  path: Path,
  skills: readonly RoutedSkill[],
  checker: Checker,
): void {
  const skill = skills.find((each) => each.name === name)
  if (!skill) {
    const names = skills.map((each) => each.name)
    checker.report([...path, 'skill'], 'value', noSuch('skill', name, names))
    return
  }
  if (!args || !skill.args) return
  for (const finding of findingsOf(issuesOf(skill.args, args))) {
    const [key] = finding.path
    if (key === undefined || !Object.hasOwn(args, key)) continue
    checker.report([...path, 'args', ...finding.path], finding.what, finding.message)
  }
}

/** A schema that wants to be awaited, or throws, is left to the invocation. */
function issuesOf(schema: NonNullable<RoutedSkill['args']>, args: unknown) {
  try {
    return check(schema, args).issues
  } catch {
    return []
  }
}
