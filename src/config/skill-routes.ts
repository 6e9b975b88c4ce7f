import { isJsonObject } from '../core/json.ts'
import { isMatchKey } from '../core/route.ts'
import type { Skill } from '../core/skill.ts'

/** The little of a skill that its routes are made from and checked against; a broken one has but a name. */
export type RoutedSkill = Pick<Skill, 'name' | 'metadata'> & Partial<Pick<Skill, 'args'>>

/**
 * The routes that a skill brings in `metadata.<transport>.route`: the keys of a route, or match keys alone. The name is
 * `skill@transport` where none is given, the skill is the one that brings it, and it answers only that transport.
 */
export function rawRoutesOf({ name, metadata = {} }: RoutedSkill, transports: readonly string[]) {
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
