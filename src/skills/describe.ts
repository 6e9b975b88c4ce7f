import type { JsonObject } from '../core/json.ts'
import { skillJsonSchema } from '../core/skill.ts'
import type { Onion } from './onion.ts'
import type { RegisteredSkill } from './registry.ts'

/** One line of `trivium skill list`. */
export type SkillInfo = {
  name: string
  description: string
  kind: 'code' | 'markdown' | 'prefix' | 'built-in'
  path?: string
}

/** What `trivium skill show` prints. `layers` are the middleware around it, outermost first. */
export type SkillDescription = SkillInfo & {
  args: JsonObject
  metadata: JsonObject
  layers: Onion['layers']
}

export function skillInfo(name: string, registered: RegisteredSkill | undefined): SkillInfo {
  const source = registered?.source
  return {
    name,
    description: registered?.onion.skill.description ?? '',
    kind: source?.kind ?? 'built-in',
    ...(source ? { path: source.path } : {}),
  }
}

export function describeSkill(registered: RegisteredSkill): SkillDescription {
  const { skill, layers } = registered.onion
  return {
    ...skillInfo(skill.name, registered),
    args: skillJsonSchema(skill),
    metadata: skill.metadata ?? {},
    layers,
  }
}
