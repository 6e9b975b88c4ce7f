import { isJsonObject } from '../core/json.ts'
import { isMatchKey, type Route, routeSchema } from '../core/route.ts'
import type { Skill } from '../core/skill.ts'
import { noSuch, quote } from '../lib/nearest.ts'
import { check, findingsOf } from './checker.ts'
import type { FindCover } from './unreachable.ts'
import type { Problem } from './yaml-file.ts'

/** The little of a skill that its routes are made from and checked against; a broken one has but a name. */
export type RoutedSkill = Pick<Skill, 'name' | 'metadata'> & Partial<Pick<Skill, 'args'>>

/**
 * All routes in their order: the file's, then those that skills bring, and last the file's final route where that
 * one takes everything; before it, because after it none of them could ever run. What is broken in a skill's
 * route, has the name of a route that is there, or can never run, is a warning: a skill must not stop the daemon.
 */
export function withSkillRoutes(
  own: readonly Route[],
  skills: readonly RoutedSkill[],
  transports: readonly string[],
  findCover: FindCover,
): { routes: Route[]; problems: Problem[] } {
  const last = own.at(-1)
  const rest = last && Object.keys(last.match).length === 0 ? [last] : []
  const routes = own.slice(0, own.length - rest.length)
  const problems: Problem[] = []
  const warn = (skill: string, message: string) =>
    problems.push({ severity: 'warning', file: `skill ${skill}`, message })

  const names = skills.map(({ name }) => name)
  for (const { name, metadata: { prefixes, ref } = {} } of skills) {
    if (prefixes && typeof ref === 'string' && !names.includes(ref)) warn(name, noSuch('skill', ref, names))
  }
  for (const { skill, transport, raw } of skills.flatMap((each) => rawRoutesOf(each, transports))) {
    const { data: route, issues } = check(routeSchema, raw)
    for (const { path, message } of findingsOf(issues)) {
      warn(skill, `metadata.${[transport, 'route', ...path.map(String)].join('.')}: ${message}`)
    }
    if (!route) continue
    if ([...routes, ...rest].some(({ name }) => name === route.name)) {
      warn(skill, `its route ${quote(route.name)} is left out: there is a route with that name`)
      continue
    }
    const cover = findCover(route, routes)
    if (cover)
      warn(skill, `its route ${quote(route.name)} never runs: ${quote(cover.name)} takes all that it matches`)
    routes.push(route)
  }
  return { routes: [...routes, ...rest], problems }
}

/**
 * The routes that a skill brings in `metadata.<transport>.route`: the keys of a route, or match keys alone. The name is
 * `skill@transport` where none is given, the skill is the one that brings it, and it answers only that transport.
 */
function rawRoutesOf({ name, metadata = {} }: RoutedSkill, transports: readonly string[]) {
  return transports.flatMap((transport) => {
    const section = Object.hasOwn(metadata, transport) ? metadata[transport] : undefined
    if (!isJsonObject(section) || !Object.hasOwn(section, 'route')) return []
    return [{ skill: name, transport, raw: completed(section.route, name, transport) }]
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
