import { isJsonObject } from '../core/json.ts'
import { MATCH_KEYS, OPEN_MATCH_KEY, type Route, routeSchema } from '../core/route.ts'
import type { Skill } from '../core/skill.ts'
import type { Problem } from './problem.ts'
import { findingsOf } from './zod-problems.ts'

/** The little of a skill that its routes are made from and checked against; a broken one has but a name. */
export type RoutedSkill = Pick<Skill, 'name' | 'metadata'> & Partial<Pick<Skill, 'args'>>

/**
 * The routes that skills bring in `metadata.<transport>.route`: the keys of a route, or match keys alone.
 * The name is `skill@transport` where none is given, the skill is the one that brings it, and it answers
 * only that transport. They come after the file's. A broken one is a warning and is left out.
 */
export function routesOfSkills(
  skills: readonly RoutedSkill[],
  transports: readonly string[],
): { routes: Route[]; problems: Problem[] } {
  const routes: Route[] = []
  const problems: Problem[] = []
  for (const { name, metadata = {} } of skills) {
    for (const transport of transports) {
      const section = Object.hasOwn(metadata, transport) ? metadata[transport] : undefined
      if (!isJsonObject(section) || !Object.hasOwn(section, 'route')) continue
      const raw = completed(section.route, name, transport)
      const parsed = routeSchema.safeParse(raw)
      if (parsed.success) routes.push(parsed.data)
      for (const { path, message } of findingsOf(parsed.error?.issues ?? [], routeSchema, raw)) {
        const where = `metadata.${[transport, 'route', ...path.map(String)].join('.')}`
        problems.push({ severity: 'warning', file: `skill ${name}`, message: `${where}: ${message}` })
      }
    }
  }
  return { routes, problems }
}

function completed(route: unknown, skill: string, transport: string): unknown {
  if (!isJsonObject(route)) return route
  const known: readonly string[] = MATCH_KEYS
  const isMatchKey = (key: string) => known.includes(key) || OPEN_MATCH_KEY.test(key)
  const entries = Object.entries(route)
  const match = Object.fromEntries(entries.filter(([key]) => isMatchKey(key)))
  const rest = Object.fromEntries(entries.filter(([key]) => !isMatchKey(key)))
  const given = isJsonObject(rest.match) ? rest.match : {}
  return { name: `${skill}@${transport}`, ...rest, match: { ...match, ...given, transport }, skill }
}
