import type { ApprovalSettings } from '../core/approval-settings.ts'
import type { Call } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { Services } from '../core/services.ts'
import { didYouMean } from '../lib/nearest.ts'
import { abortError } from './bounded.ts'
import { callbackSkill, isCallbackName } from './callbacks/callback-skill.ts'
import { createContexts } from './context.ts'
import { createOnion, guardOnion, type Onion } from './onion.ts'
import { parseArgs } from './parse-args.ts'
import type { createRegistry, RegisteredSkill } from './registry.ts'

export type RunnerOptions = {
  log: Log
  /** The approval that a route requires for a skill, which then applies to every caller. */
  guardOf?(skill: string): boolean | ApprovalSettings | undefined
  /** Why a skill of an MCP server is missing; undefined for other names. */
  missing?(name: string): TriviumError | undefined
  /** Values shared by all invocations. */
  globals?: Record<string, unknown>
}

const MAX_DEPTH = 32

/** Runs the skills of a registry. Call `connect` before the first run. */
export function createRunner(options: RunnerOptions, registry: ReturnType<typeof createRegistry>) {
  const { log, globals = {} } = options

  let contextOf: ReturnType<typeof createContexts> = () => {
    throw new Error('the services of skills are not connected yet')
  }

  /** Throws `skill_not_found`, `skill_broken`, or why a skill of an MCP server is missing. */
  const find = (name: string): RegisteredSkill => {
    const found = registry.get(name)
    if (found) return found
    const broken = registry.broken(name)
    if (broken) throw new TriviumError('skill_broken', { name, path: broken.path, reason: broken.reason })
    if (isCallbackName(name)) {
      const load = () => callbackSkill(name)
      return { onion: createOnion(load(), registry.middleware()), source: { name, kind: 'built-in', load } }
    }
    const missing = options.missing?.(name)
    throw missing ?? new TriviumError('skill_not_found', { name, hint: didYouMean(name, registry.names()) })
  }

  const withApproval = (onion: Onion, given?: true | ApprovalSettings) =>
    guardOnion(onion, registry.middleware(), given)

  /** A skill with the approval that a route requires for it, if any. */
  const guarded = ({ onion, source: { name } }: RegisteredSkill): Onion => {
    const guard = options.guardOf?.(name)
    return guard ? withApproval(onion, guard) : onion
  }

  /** Throws, or rejects with the skill's error. `refine` changes the layers for this call. */
  const run = (
    call: Call,
    args: unknown,
    nonlocals: Record<string, unknown>,
    refine?: (onion: Onion) => Onion,
  ): Promise<unknown> => {
    if (call.signal.aborted) throw abortError(call.signal)
    if (call.depth >= MAX_DEPTH) {
      throw new TriviumError('recursion_limit', { name: call.skill, depth: call.depth, limit: MAX_DEPTH })
    }
    const found = find(call.skill)
    // Routes decide themselves whether they need an approval.
    const isRouted = call.depth === 0 && call.route !== undefined
    const own = isRouted ? found.onion : guarded(found)
    const onion = refine ? refine(own) : own
    call.given = args
    return onion.run(contextOf(call, parseArgs(onion.skill, args), nonlocals))
  }

  return {
    /** Sets the services of skills. */
    connect(services: Services): void {
      contextOf = createContexts({
        globals,
        services,
        log,
        run: async (call, args, nonlocals, { guard }) =>
          run(call, args, nonlocals, guard?.again === undefined ? undefined : withApproval),
      })
    },
    find,
    run,
    guarded,
    withApproval,
    /** Throws if a call may not plan a later run of a skill (with `args`). Programs never may, as their token may be gone by then. */
    async permit(name: string, call: Call, args?: unknown): Promise<void> {
      const { id, skills } = call.caller
      if (skills) {
        const reason = 'work that runs later requires the control token'
        throw new TriviumError('forbidden', { what: `Skill ${name} for ${id}`, reason })
      }
      const { skill } = find(name).onion
      const access = registry.middleware().filter((one) => one.name === 'access')
      const asked = { ...call, skill: name, depth: 0 }
      await createOnion({ ...skill, run: async () => {} }, access).run(contextOf(asked, {}, {}))
      if (args !== undefined) parseArgs(skill, args)
    },
  }
}
