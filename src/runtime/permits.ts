import type { Call } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import type { Middleware, SkillContext } from '../core/skill.ts'
import { createLayeredSkill } from './layered-skill.ts'
import { parseArgs } from './parse-args.ts'
import type { RegisteredSkill } from './registry.ts'

/**
 * Makes functions that check whether a call may use a skill. They throw `forbidden`, or the error
 * of `find` if there is no such skill.
 */
export function createPermits(
  find: (name: string) => RegisteredSkill,
  middleware: () => readonly Middleware[],
  contextOf: (call: Call) => SkillContext,
) {
  /** Runs the access rules alone, around a skill that does nothing. */
  const requireAccess = async (name: string, call: Call): Promise<void> => {
    const { skill, origin } = find(name).layered
    const access = middleware().filter((one) => one.name === 'access')
    // Without `output`, because the idle skill has no result to check.
    const { output: _, ...rest } = skill
    const idle = createLayeredSkill({ ...rest, run: async () => {} }, access, origin)
    await idle.run(contextOf({ ...call, skill: name, depth: 0 }))
  }

  return {
    /** Checks the right to run a skill now. */
    requireAccess,
    /**
     * Checks the right to pause or resume a skill. A program needs no right to the skill itself.
     */
    async permitPause(name: string, call: Call): Promise<void> {
      if (call.caller.skills) find(name)
      else await requireAccess(name, call)
    },
    /**
     * Checks the right to run a skill later. Programs have none: their token may be removed first.
     */
    async permit(name: string, call: Call, args?: unknown): Promise<void> {
      const { id, skills } = call.caller
      if (skills) {
        const reason = 'work that runs later requires the control token'
        throw new TriviumError('forbidden', { what: `Skill ${name} for ${id}`, reason })
      }
      await requireAccess(name, call)
      if (args !== undefined) parseArgs(find(name).layered.skill, args)
    },
  }
}
