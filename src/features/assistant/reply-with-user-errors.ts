import { TriviumError } from '../../core/errors.ts'
import type { Skill } from '../../core/skill.ts'

/** Codes of errors that the user made. */
const USER_ERRORS = new Set(['usage', 'not_found', 'limit_reached', 'skill_args_invalid'])

/** Wraps a skill: an error of the user becomes the reply to a message. Programs get the error. */
export function replyWithUserErrors(skill: Skill): Skill {
  return {
    ...skill,
    async run(ctx) {
      try {
        return await skill.run(ctx)
      } catch (error) {
        if (ctx.message && error instanceof TriviumError && USER_ERRORS.has(error.code))
          return { text: error.message }
        throw error
      }
    },
  }
}
