import { randomUUID } from 'node:crypto'
import { type Call, type Caller, createSendCounter, type InvokeOptions } from '../core/call.ts'
import { reasonOf, TriviumError } from '../core/errors.ts'
import { requireMayInvoke } from '../core/identity.ts'
import { toJson } from '../core/json.ts'
import type { Services } from '../core/services.ts'
import { outputJsonSchema, type Skill, skillJsonSchema } from '../core/skill.ts'
import { defined } from '../lib/defined.ts'
import { runBounded } from './bounded.ts'
import { createRegistry, isShipped, type RegisteredSkill, type RegistryOptions } from './registry.ts'
import { createRunner, type RunnerOptions } from './runner.ts'
import { watchSkills } from './watch-skills.ts'

export type SkillManager = ReturnType<typeof createSkillManager>

export type SkillManagerOptions = RegistryOptions &
  RunnerOptions & {
    /** Redacts secrets in the text of an error, because the text is stored and shown. */
    redact?(text: string): string
    /** Called if a caller may not invoke a skill, before the error is thrown. */
    refused?(call: AttemptedCall, error: unknown): Promise<void>
  }

/** A direct call of a skill. */
export type AttemptedCall = {
  skill: Skill
  isBuiltIn: boolean
  args: unknown
  caller: Caller
  nonlocals?: unknown
}

/** Dependencies of skills. */
type Connected = {
  services: Services
  /** Further skills. */
  skills?: readonly Skill[]
  /** Called at the end of an invocation without a message. */
  onEnd?(rootId: string): Promise<unknown> | undefined
}

type AbortInvocation = (reason: Error) => void

/**
 * Makes the skill manager. Call `connect` (services) and then `reload` (loads skills) before the
 * first invocation.
 */
export function createSkillManager(options: SkillManagerOptions) {
  const { folders, log, redact = (text) => text } = options
  let onEnd: Connected['onEnd']
  const running = new Set<AbortInvocation>()
  const registry = createRegistry(options)
  const runner = createRunner(options, registry)
  const { find, guarded } = runner
  const { notify, onChange } = createListeners()
  const reload = async () => {
    await registry.reload()
    notify()
  }
  let stopWatching: (() => Promise<void>) | undefined
  let closed = false

  return {
    /** Sets the services of skills. */
    connect(parts: Connected) {
      runner.connect(parts.services)
      onEnd = parts.onEnd
      registry.add(parts.skills ?? [])
    },
    invoke: createInvoke({
      runner,
      running,
      redact,
      requireRight: createRightCheck(registry, options),
      isClosed: () => closed,
      ended: (rootId) => onEnd?.(rootId),
    }),
    ...runner.permits,
    /** Data of `trivium skill list`. */
    list: () => listOf(registry, options),
    get: (name: string) => registry.get(name)?.layered.skill,
    /**
     * Data of `trivium skill show`. `layers` are outermost first. Throws `skill_not_found`,
     * `skill_broken`.
     */
    describe: (name: string) => detailOf(find(name), guarded(find(name)), options),
    errors: registry.errors,
    replaced: registry.replaced,
    known: registry.known,
    /** Replaces the skills of MCP servers. */
    useRemote(skills: readonly Skill[]) {
      registry.useRemote(skills)
      notify()
    },
    /** Reloads all skills. A broken skill keeps its last good version. */
    reload,
    /**
     * Reloads on file changes, and calls `changed` after each reload, with the paths of the changed
     * files in their folder. Ends with `close`.
     */
    async watch(changed?: (files: readonly string[]) => void) {
      stopWatching = await watchSkills(folders, (files) => reload().then(() => changed?.(files)), log)
    },
    onChange,
    /** Aborts running invocations with `stopping`, and stops watching. */
    async close() {
      closed = true
      await stopWatching?.()
      const reason = new TriviumError('stopping', { what: 'The call was ended; it may have had effects.' })
      for (const abort of running) abort(reason)
      registry.close()
    },
  }
}

/**
 * Makes the function that runs a skill. Results for CLI, HTTP and MCP are converted to JSON. Throws
 * a TriviumError: `skill_failed`, with the error of the skill as `cause`, and others.
 */
function createInvoke(parts: {
  runner: ReturnType<typeof createRunner>
  running: Set<AbortInvocation>
  redact(text: string): string
  requireRight: ReturnType<typeof createRightCheck>
  isClosed(): boolean
  /** Called at the end of an invocation without a message. */
  ended(rootId: string): Promise<unknown> | undefined
}) {
  const { running, redact } = parts
  const { run, withApproval } = parts.runner
  return async (name: string, args?: unknown, invokeOptions: InvokeOptions = {}) => {
    if (parts.isClosed()) throw new TriviumError('stopping', { what: `Skill ${name} was not run.` })
    const { signal: parent, timeout, caller, approval } = invokeOptions
    if (caller) await parts.requireRight(name, args, { ...invokeOptions, caller })
    const { rootId = `${caller?.kind ?? 'code'}-${randomUUID()}` } = invokeOptions
    try {
      const result = await runBounded({ skill: name, parent, timeout, running }, (signal) =>
        run(
          createRootCall(name, { ...invokeOptions, rootId, signal }),
          args,
          invokeOptions.nonlocals ?? {},
          approval ? (layered) => withApproval(layered, approval) : undefined,
        ),
      )
      const isOutside = caller !== undefined && caller.kind !== 'route' && caller.kind !== 'code'
      return isOutside ? asJson(result) : result
    } catch (error) {
      if (error instanceof TriviumError) throw error
      throw new TriviumError('skill_failed', { name, reason: redact(reasonOf(error)) }, { cause: error })
    } finally {
      // Dispatch may retry a message, and reports the end itself.
      if (!invokeOptions.message) await parts.ended(rootId)
    }
  }
}

/** Makes a function that throws `forbidden` if a caller may not invoke a skill. */
function createRightCheck(
  registry: Pick<ReturnType<typeof createRegistry>, 'get'>,
  { refused }: Pick<SkillManagerOptions, 'refused'>,
) {
  return async (name: string, args: unknown, { caller, nonlocals }: InvokeOptions & { caller: Caller }) => {
    try {
      requireMayInvoke(caller, name)
    } catch (error) {
      const known = registry.get(name)
      const isBuiltIn = known?.source.kind === 'built-in'
      if (known) await refused?.({ skill: known.layered.skill, isBuiltIn, args, caller, nonlocals }, error)
      throw error
    }
  }
}

function createListeners() {
  const listeners = new Set<() => void>()
  return {
    notify(): void {
      for (const listener of [...listeners]) listener()
    },
    /** Calls `listener` after each reload. Returns a function that unsubscribes. */
    onChange(listener: () => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

function createRootCall(
  skill: string,
  options: InvokeOptions & { rootId: string; signal: AbortSignal },
): Call {
  const { message, route, model, onModel, onRan, askUser, steer, signal } = options
  const call: Call = {
    rootId: options.rootId,
    trace: options.trace ?? message?.trace ?? randomUUID().replaceAll('-', ''),
    caller: options.caller ?? { kind: 'code' },
    sends: options.sends ?? createSendCounter(),
    skill,
    depth: 0,
    signal,
  }
  // Set one by one: most are absent, and removing undefined values from a copy would be the most
  // expensive step here.
  if (message) call.message = message
  if (route !== undefined) call.route = route
  if (model !== undefined) call.model = model
  if (onModel) call.onModel = onModel
  if (onRan) call.onRan = onRan
  if (askUser) call.askUser = askUser
  if (steer) call.steer = steer
  return call
}

type Folders = Pick<RegistryOptions, 'folders' | 'shippedFolder'>

/**
 * `shipped`: whether the skill is part of Trivium and not of the project. In a clone, the folder of
 * the shipped skills is one of the project's. `replaces`: whether it runs in place of a built-in
 * skill of the same name.
 */
function infoOf(
  { layered: { skill }, source }: RegisteredSkill,
  { folders, shippedFolder }: Folders,
  isReplacing = false,
) {
  const { name, kind, path } = source
  const isClone = folders.filter((folder) => folder === shippedFolder).length > 1
  const isFile = kind === 'code' || kind === 'markdown'
  const shipped = (isShipped(source, shippedFolder) && !(isClone && isFile)) || undefined
  const replaces = isReplacing || undefined
  return { name, description: skill.description, kind, ...defined({ path, shipped, replaces }) }
}

function listOf({ names, get, replaced }: ReturnType<typeof createRegistry>, folders: Folders) {
  const replacing = new Set(replaced().map(({ name }) => name))
  return names().flatMap((name) => {
    const found = get(name)
    return found ? [infoOf(found, folders, replacing.has(name))] : []
  })
}

function detailOf(found: RegisteredSkill, { skill, layers }: RegisteredSkill['layered'], options: Folders) {
  const args = skillJsonSchema(skill)
  const output = outputJsonSchema(skill)
  return { ...infoOf(found, options), args, ...defined({ output }), metadata: skill.metadata ?? {}, layers }
}

function asJson(result: unknown): unknown {
  try {
    return toJson(result)
  } catch (error) {
    const [reason] = reasonOf(error).split('\n')
    throw new Error(`its result is not JSON: ${reason}`, { cause: error })
  }
}
