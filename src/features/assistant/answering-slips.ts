import { TriviumError } from '../../core/errors.ts'
import type { Skill } from '../../core/skill.ts'

const SLIPS = new Set(['usage', 'not_found', 'limit_reached', 'skill_args_invalid'])

/** In a chat, an error of the user becomes a reply. Programs get the error. */
export function answeringSlips(skill: Skill): Skill {
  return {
    ...skill,
    async run(ctx) {
      try {
        return await skill.run(ctx)
      } catch (error) {
        if (ctx.message && error instanceof TriviumError && SLIPS.has(error.code))
          return { text: error.message }
        throw error
      }
    },
  }
}
