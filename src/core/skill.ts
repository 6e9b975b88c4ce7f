import { type ZodType, z } from 'zod'
import { isJsonObject, type Json, type JsonObject, toJson } from './json.ts'
import type { Log } from './log.ts'
import type { Message } from './message.ts'
import type { Services } from './services.ts'

/** A skill: what a route, code, a model, the command line, HTTP and MCP invoke by name. */
export type Skill<Args = unknown> = {
  /** Lower-case letters, digits and dashes. */
  name: string
  description: string
  /** The arguments; the command line makes its flags from it, the model its tool parameters. */
  args: ZodType<Args>
  /** Names middleware and their settings: `session`, `timeout`, `approval`, a transport's `route`, … */
  metadata?: JsonObject
  run(ctx: SkillContext<Args>): unknown
}

/** What a skill works with. One per invocation; `globals` is shared by the process. */
export type SkillContext<Args = unknown> = {
  args: Args
  /** The message that started it, for a dispatched skill and everything it invokes. */
  message?: Message
  /** This invocation's own: `result`, `agent.trace`, `session`. */
  locals: Record<string, unknown>
  /** What came with the outermost call: `request.headers`. Shared by nested invocations. */
  nonlocals: Record<string, unknown>
  globals: Record<string, unknown>
  manager: SkillInvoker
  /**
   * Runs `effect` (a charge, an upload, a mail) once for its key, over retries, crashes and restarts, and gives its
   * result as JSON; later calls get that result and run nothing. The key names the effect within this skill:
   * `charge:${orderId}`. Throws `call_unknown` where an earlier run was cut off and may have happened.
   */
  once(key: string, effect: () => unknown): Promise<Json>
  log: Log
  /** Aborted at the deadline, on cancellation, and when the daemon drains past its grace. */
  signal: AbortSignal
  /** What the daemon offers to skills. */
  services: Services
  /** Who asked, and what the invocation has in common with those nested in it. */
  call: Call
}

export type SkillInvoker = {
  /**
   * Validates and runs a skill. A nested call inherits message, trace, deadline and signal.
   * Throws `skill_not_found`, `skill_args_invalid`, `skill_timeout`, `recursion_limit`, `forbidden`, or what the skill threw.
   */
  invoke(name: string, args?: unknown): Promise<unknown>
}

/** Who made the outermost call. `roles` come from access rules and tokens; `id` names a verified identity. */
export type Caller = {
  kind: 'route' | 'cli' | 'http' | 'mcp' | 'code'
  id?: string
  roles?: readonly string[]
}

/** One invocation, as services see it. Nested calls share everything but `signal`, `skill` and `depth`. */
export type Call = {
  /** Names the outermost invocation: `rootContextId` of the events it emits, owner of its own consumer groups. */
  rootId: string
  /** W3C trace id (32 hex digits): the message's, else one of its own. */
  trace: string
  caller: Caller
  message?: Message
  /** The route that dispatched it. */
  route?: string
  /** Numbers the sends of the outermost invocation, so that a repeated one gives each the same key again. */
  sends: SendCounter
  /** The default model, and who listens to a model's text as it comes; see `InvokeOptions`. */
  model?: string
  onText?: (text: string) => void
  /** The skill that runs, and how many invocations it is nested in (0: the outermost). */
  skill: string
  depth: number
  /** The arguments as they came, before the skill's schema dropped what it does not name. */
  given?: unknown
  /** The depth at which a model calls its tools; those are asked for by whoever wrote the message. */
  toolDepth?: number
  signal: AbortSignal
}

/** `next()` gives 0, 1, 2, …; `count` is how many it gave. */
export type SendCounter = { next(): number; readonly count: number }

/** What an outermost call may bring along. Nested calls inherit all of it. */
export type InvokeOptions = {
  caller?: Caller
  message?: Message
  route?: string
  /** Aborts the invocation and everything nested in it. */
  signal?: AbortSignal
  /** Ms for the whole invocation; nested calls share the deadline. */
  timeout?: number
  nonlocals?: Record<string, unknown>
  trace?: string
  /** Default: a fresh one. A dispatcher gives one that stays the same over retries. */
  rootId?: string
  /** Give one to look at its `count` afterwards: whether the skill has replied itself. */
  sends?: SendCounter
  /** Gets the text of a model as it comes, for skills that stream. */
  onText?: (text: string) => void
  /** Default model of markdown skills that name none: the route's. */
  model?: string
  /** The outermost skill runs only once somebody approved it, whatever its own metadata says. */
  approval?: boolean
}

/** Declares a code skill with its argument type inferred. */
export function defineSkill<Args>(skill: Skill<Args>): Skill<Args> {
  return skill
}

/** A fresh counter. */
export function createSendCounter(): SendCounter {
  let count = 0
  return {
    next: () => count++,
    get count() {
      return count
    },
  }
}

/**
 * The arguments of a skill as JSON Schema (draft 2020-12), as a caller has to give them: fields with a
 * default are optional. The command line, model tools and MCP are made from it.
 */
export function skillJsonSchema(skill: Pick<Skill, 'args'>): JsonObject {
  const schema = toJson(z.toJSONSchema(skill.args, { io: 'input', unrepresentable: 'any' }))
  return isJsonObject(schema) ? schema : {}
}

/** One layer of the onion around a skill, switched on by its name in the skill's metadata. */
export type Middleware = {
  /** The key in `metadata`. */
  name: string
  /** Position: lower is further outside. The shipped ones leave gaps of 100. */
  order: number
  /** One line for `trivium skill show`. */
  description: string
  /** Applies to skills without the key too. */
  always?: boolean
  /**
   * Validates the settings when a skill is loaded, and returns the layer. A throw makes that skill broken.
   * `settings` is undefined where the skill does not have the key.
   */
  setup(settings: unknown, skill: Skill): MiddlewareLayer
}

/** Called once per invocation, inside the layers further out. Must call `next` at most once; returns the result. */
export type MiddlewareLayer = (ctx: SkillContext, next: () => Promise<unknown>) => Promise<unknown>

/** Declares a middleware: the default export of `middleware/<name>.ts` in a skills folder. */
export function defineMiddleware(middleware: Middleware): Middleware {
  return middleware
}
