import type { Call } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import type { Middleware, SkillContext } from '../core/skill.ts'
import { createLayeredSkill } from './layered-skill.ts'
import { parseArgs } from './parse-args.ts'
import type { RegisteredSkill } from './registry.ts'

/**
 * Makes functions that throw if a call may not use a skill in some way: `forbidden`, or the error
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
    // Without `output`, which the idle skill does not have.
    const { output: _, ...rest } = skill
    const idle = createLayeredSkill({ ...rest, run: async () => {} }, access, origin)
    await idle.run(contextOf({ ...call, skill: name, depth: 0 }))
  }

  return {
    /** For a run now. */
    requireAccess,
    /** For a pause or its end. A program needs no right on the skill itself. */
    async permitPause(name: string, call: Call): Promise<void> {
      if (call.caller.skills) find(name)
      else await requireAccess(name, call)
    },
    /** For a later run. Programs may not schedule any: their token may be removed by then. */
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
