import type { Skill } from '../../core/skill.ts'
import { assistantSkills } from './assistant.ts'
import { operateSkills } from './operate.ts'
import { roadsSkills } from './roads.ts'
import { stateSkills } from './state.ts'
import { workSkills } from './work.ts'

/** What `ctx.services` can do, as skills. */
export const builtInSkills: readonly Skill[] = [
  ...roadsSkills,
  ...stateSkills,
  ...operateSkills,
  ...assistantSkills,
  ...workSkills,
]
