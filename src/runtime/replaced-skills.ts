import type { Skill } from '../core/skill.ts'
import type { SkillSource } from './sources.ts'

/** A skill of the project that has the name of an operation, and runs in its place. */
export type ReplacedSkill = { name: string; path: string }

/** The warning about a `ReplacedSkill`. */
export const REPLACED = 'this skill replaces a built-in one, also for those who may only use the built-in one'

/** The skills of the project in the place of built-in ones. */
export function replacedAmong(
  builtIn: readonly Skill[],
  skills: ReadonlyMap<string, { source: SkillSource }>,
): ReplacedSkill[] {
  return builtIn.flatMap(({ name }) => {
    const source = skills.get(name)?.source
    return source === undefined || source.kind === 'built-in' ? [] : [{ name, path: source.path ?? '' }]
  })
}
