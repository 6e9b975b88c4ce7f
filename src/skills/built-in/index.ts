import type { Skill } from '../../core/skill.ts'
import { operateSkills } from './operate.ts'
import { roadsSkills } from './roads.ts'
import { stateSkills } from './state.ts'

/** Each service of `ctx.services` that the runtime and the roads bring, as skills. */
export const builtInSkills: readonly Skill[] = [...roadsSkills, ...stateSkills, ...operateSkills]
