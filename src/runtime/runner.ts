import type { Call } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { skillPaused } from '../core/paused-skill.ts'
import type { ApprovalSettings } from '../core/route.ts'
import type { Services } from '../core/services.ts'
import type { Middleware } from '../core/skill.ts'
import { didYouMean } from '../lib/nearest.ts'
import { abortError } from './bounded.ts'
import { callbackSkill, isCallbackName } from './callbacks/callback-skill.ts'
import { createContexts } from './context.ts'
import { createLayeredSkill, type LayeredSkill, requireApproval } from './layered-skill.ts'
import { parseArgs } from './parse-args.ts'
import { createPermits } from './permits.ts'
import type { createRegistry, RegisteredSkill } from './registry.ts'

export type RunnerOptions = {
  log: Log
  /** The approval that a route requires for a skill, which then applies to every caller. */
  approvalOf?(skill: string): boolean | ApprovalSettings | undefined
  /** Why a skill of an MCP server is missing; undefined for other names. */
  missing?(name: string): TriviumError | undefined
  /** The pause of a skill, which holds its runs. */
  pauseOf?(skill: string): { name: string; by: string; reason?: string } | undefined
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
    if (isCallbackName(name)) return callbackOf(name, registry.middleware())
    const missing = options.missing?.(name)
    throw missing ?? new TriviumError('skill_not_found', { name, hint: didYouMean(name, registry.names()) })
  }

  const withApproval = (layered: LayeredSkill, settings?: true | ApprovalSettings) =>
    requireApproval(layered, registry.middleware(), settings)

  /** A skill with the approval that a route requires for it, if any. */
  const guarded = ({ layered, source: { name } }: RegisteredSkill): LayeredSkill => {
    const approval = options.approvalOf?.(name)
    return approval ? withApproval(layered, approval) : layered
  }

  /** Runs a skill. Throws, or rejects with its error. `refine` changes its layers for this call. */
  const run = (
    call: Call,
    args: unknown,
    nonlocals: Record<string, unknown>,
    refine?: (layered: LayeredSkill) => LayeredSkill,
  ): Promise<unknown> => {
    if (call.signal.aborted) throw abortError(call.signal)
    if (call.depth >= MAX_DEPTH) {
      throw new TriviumError('recursion_limit', { name: call.skill, depth: call.depth, limit: MAX_DEPTH })
    }
    const found = find(call.skill)
    const pause = options.pauseOf?.(call.skill)
    if (pause && !isByHand(call, found)) throw skillPaused(pause, call.by)
    // Whether the run of a route needs an approval is a setting of this route alone.
    const isRouted = call.depth === 0 && call.route !== undefined
    const unrefined = isRouted ? found.layered : guarded(found)
    const layered = refine ? refine(unrefined) : unrefined
    call.given = args
    return layered.run(contextOf(call, parseArgs(layered.skill, args), nonlocals))
  }

  return {
    /** Sets the services of skills. */
    connect(services: Services): void {
      contextOf = createContexts({
        globals,
        services,
        log,
        async run(call, args, nonlocals, { guard }) {
          // An interrupted call may have taken effect: its repetition needs an approval.
          const isRerun = guard?.rerunKey !== undefined
          return run(call, args, nonlocals, isRerun ? (layered) => withApproval(layered) : undefined)
        },
      })
    },
    find,
    run,
    guarded,
    withApproval,
    permits: createPermits(find, registry.middleware, (call) => contextOf(call, {}, {})),
  }
}

/**
 * Whether an operator runs a skill directly, such as to test a repair, or a built-in one, such as that
 * which ends the pause. A pause does not hold these runs.
 */
function isByHand({ depth, caller: { kind, skills } }: Call, { source }: RegisteredSkill): boolean {
  if (depth > 0 || kind === 'route' || kind === 'code') return false
  return source.kind === 'built-in' || (kind !== 'mcp' && skills === undefined)
}

/** The skill of a callback, which is not registered. */
function callbackOf(name: string, middleware: readonly Middleware[]): RegisteredSkill {
  const load = () => callbackSkill(name)
  const layered = createLayeredSkill(load(), middleware, { isBuiltIn: true })
  return { layered, source: { name, kind: 'built-in', load } }
}
