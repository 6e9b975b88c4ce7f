import { randomUUID } from 'node:crypto'
import type { ApprovalSettings } from '../core/approval-settings.ts'
import { type Call, createSendCounter, type InvokeOptions } from '../core/call.ts'
import { reasonOf, TriviumError } from '../core/errors.ts'
import { requireAskFor } from '../core/identity.ts'
import { toJson } from '../core/json.ts'
import type { Services } from '../core/services.ts'
import { outputJsonSchema, type Skill, skillJsonSchema } from '../core/skill.ts'
import { defined } from '../lib/defined.ts'
import { didYouMean } from '../lib/nearest.ts'
import { abortError, runBounded } from './bounded.ts'
import { callbackSkill, isCallbackName } from './callbacks/callback-service.ts'
import { createContexts } from './context.ts'
import { createOnion, guardOnion, type Onion } from './onion.ts'
import { parseArgs } from './parse-args.ts'
import { createRegistry, type RegisteredSkill, type RegistryOptions } from './registry.ts'
import { watchSkills } from './watch-skills.ts'

/** Runs all skills, for every kind of caller. */
export type SkillManager = ReturnType<typeof createSkillManager>

export type SkillManagerOptions = RegistryOptions & {
  /** The approval that a route requires for a skill, which then applies to every caller. */
  guardOf?(skill: string): boolean | ApprovalSettings | undefined
  /** Why a skill of an MCP server is missing; undefined for other names. */
  missing?(name: string): TriviumError | undefined
  /** Values shared by all invocations. */
  globals?: Record<string, unknown>
}

/** Dependencies of skills. */
type Connected = {
  services: Services
  /** Further skills, which depend on the manager. */
  skills?: readonly Skill[]
  /** Called at the end of an invocation without a message. */
  ended?(rootId: string): Promise<void>
}

const MAX_DEPTH = 32

/** Makes the skill manager. Call `connect` (services) and then `reload` (loads skills) before the first invocation. */
export function createSkillManager(options: SkillManagerOptions) {
  const { folders, log, globals = {} } = options
  let ended: Connected['ended']
  const live = new Set<(reason: Error) => void>()
  const registry = createRegistry(options)
  const listeners = new Set<() => void>()
  const tell = () => {
    for (const listener of [...listeners]) listener()
  }
  const reload = async () => {
    await registry.reload()
    tell()
  }
  let stopWatching: (() => Promise<void>) | undefined
  let closed = false

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

  const connectedTo = (services: Services) =>
    createContexts({
      globals,
      services,
      log,
      run: async (call, args, nonlocals, { guard }) =>
        run(call, args, nonlocals, guard?.again === undefined ? undefined : withApproval),
    })

  let contextOf: ReturnType<typeof createContexts> = () => {
    throw new Error('skills have no services yet')
  }

  /** Throws, or rejects with the skill's error. */
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
    const { onion: found } = find(call.skill)
    // Routes decide themselves whether they need an approval.
    const isRouted = call.depth === 0 && call.route !== undefined
    const guard = isRouted ? undefined : options.guardOf?.(call.skill)
    const guarded = guard ? withApproval(found, guard) : found
    const onion = refine ? refine(guarded) : guarded
    call.given = args
    return onion.run(contextOf(call, parseArgs(onion.skill, args), nonlocals))
  }

  return {
    /** Sets the services of skills. */
    connect(parts: Connected) {
      contextOf = connectedTo(parts.services)
      ended = parts.ended
      registry.add(parts.skills ?? [])
    },
    /** Validates and runs a skill; CLI, HTTP and MCP get JSON. Throws a TriviumError; `skill_failed` has the skill’s error as `cause`. */
    async invoke(name: string, args?: unknown, invokeOptions: InvokeOptions = {}) {
      if (closed) throw new TriviumError('cancelled', { what: `Skill ${name}`, reason: 'the daemon stops' })
      const { signal: parent, timeout, caller, approval } = invokeOptions
      if (caller) requireAskFor(caller, name)
      const { rootId = `${caller?.kind ?? 'code'}-${randomUUID()}` } = invokeOptions
      try {
        const result = await runBounded({ skill: name, parent, timeout, live }, (signal) =>
          run(
            createRootCall(name, { ...invokeOptions, rootId, signal }),
            args,
            invokeOptions.nonlocals ?? {},
            approval ? (onion) => withApproval(onion, approval) : undefined,
          ),
        )
        const isOutside = caller !== undefined && caller.kind !== 'route' && caller.kind !== 'code'
        return isOutside ? asJson(result) : result
      } catch (error) {
        if (error instanceof TriviumError) throw error
        throw new TriviumError('skill_failed', { name, reason: reasonOf(error) }, { cause: error })
      } finally {
        // Dispatch may retry a message, and reports the end itself.
        if (!invokeOptions.message) await ended?.(rootId)
      }
    },
    /** Throws if a call may not plan a later run of a skill (with `args`). Programs never may, as their token may be gone by then. */
    async permit(name: string, call: Call, args?: unknown): Promise<void> {
      const { id, skills } = call.caller
      if (skills) {
        const reason = 'what runs later needs the control token'
        throw new TriviumError('forbidden', { what: `Skill ${name} for ${id}`, reason })
      }
      const { skill } = find(name).onion
      const access = registry.middleware().filter((one) => one.name === 'access')
      const asked = { ...call, skill: name, depth: 0 }
      await createOnion({ ...skill, run: async () => {} }, access).run(contextOf(asked, {}, {}))
      if (args !== undefined) parseArgs(skill, args)
    },
    /** Data of `trivium skill list`. */
    list: () => registry.names().map((name) => infoOf(find(name))),
    get: (name: string) => registry.get(name)?.onion.skill,
    /** Data of `trivium skill show`. `layers` are outermost first. Throws `skill_not_found`, `skill_broken`. */
    describe(name: string) {
      const found = find(name)
      const guard = options.guardOf?.(name)
      const { skill, layers } = guard ? withApproval(found.onion, guard) : found.onion
      const [args, output] = [skillJsonSchema(skill), outputJsonSchema(skill)]
      return { ...infoOf(found), args, ...defined({ output }), metadata: skill.metadata ?? {}, layers }
    },
    errors: registry.errors,
    known: registry.known,
    /** Replaces the skills of MCP servers. */
    useRemote(skills: readonly Skill[]) {
      registry.useRemote(skills)
      tell()
    },
    /** Reloads all skills. A broken skill keeps its last good version. */
    reload,
    /** Reloads on file changes, and calls `changed` after each reload. Ends with `close`. */
    async watch(changed?: () => void) {
      stopWatching = await watchSkills(folders, () => reload().then(changed), log)
    },
    /** Calls `listener` after each reload. Returns a function that unsubscribes. */
    onChange(listener: () => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    /** Aborts running invocations with `cancelled`, and stops watching. */
    async close() {
      closed = true
      await stopWatching?.()
      const reason = new TriviumError('cancelled', { what: 'The invocation', reason: 'the daemon stops' })
      for (const abort of live) abort(reason)
      registry.close()
    },
  }
}

function createRootCall(
  skill: string,
  options: InvokeOptions & { rootId: string; signal: AbortSignal },
): Call {
  const { message, route, model, onModel, asks, steer, signal } = options
  const call: Call = {
    rootId: options.rootId,
    trace: options.trace ?? message?.trace ?? randomUUID().replaceAll('-', ''),
    caller: options.caller ?? { kind: 'code' },
    sends: options.sends ?? createSendCounter(),
    skill,
    depth: 0,
    signal,
  }
  // One by one: most are absent, and copying without them would be the most expensive step here.
  if (message) call.message = message
  if (route !== undefined) call.route = route
  if (model !== undefined) call.model = model
  if (onModel) call.onModel = onModel
  if (asks) call.asks = asks
  if (steer) call.steer = steer
  return call
}

function infoOf({ onion: { skill }, source: { name, kind, path } }: RegisteredSkill) {
  return { name, description: skill.description, kind, ...defined({ path }) }
}

function asJson(result: unknown): unknown {
  try {
    return toJson(result)
  } catch (error) {
    const [reason] = reasonOf(error).split('\n')
    throw new Error(`what it returned is no JSON: ${reason}`, { cause: error })
  }
}
