import type { Readable } from 'node:stream'
import { type ZodType, z } from 'zod'
import type { FileData } from './artifacts.ts'
import type { Call, CallOverrides } from './call.ts'
import { isJsonObject, type Json, type JsonObject, toJson } from './json.ts'
import type { Log } from './log.ts'
import type { Attachment, Message } from './message.ts'
import type { Services } from './services.ts'

/** A skill. Routes, code, models, the command line, HTTP and MCP invoke it by name. */
export type Skill<Args = unknown> = {
  /** Lower-case letters, digits and dashes. */
  name: string
  description: string
  /**
   * Schema of the arguments. Command-line flags and the tool parameters of models follow from it.
   */
  args: ZodType<Args>
  /**
   * Schema of the result, if that is an object. MCP clients and OpenAPI get it; a result that does
   * not fit is an error.
   */
  output?: ZodType
  /** Middleware and its settings: `session`, `timeout`, `approval`, a transport's `route`, … */
  metadata?: JsonObject
  run(ctx: SkillContext<Args>): unknown
  /** Summarises a session in at most `maxTokens` tokens; for `session: {summarize: true}`. */
  summarize?(ctx: SkillContext, history: string, maxTokens: number): Promise<string>
}

/** The context of one invocation. `globals` is shared by the whole process. */
export type SkillContext<Args = unknown> = {
  args: Args
  /** The message that started the run, for a dispatched skill and everything it invokes. */
  message?: Message
  /** Values of this invocation: `result`, `agent.trace`, `session`. */
  locals: Record<string, unknown>
  /** Values of the outermost call, such as `request.headers`. Shared with nested invocations. */
  nonlocals: Record<string, unknown>
  globals: Record<string, unknown>
  manager: {
    /**
     * Validates the arguments and runs a skill with the caller's message, deadline and signal.
     * Throws `skill_not_found`, `skill_args_invalid`, `skill_timeout`, `recursion_limit`,
     * `forbidden`, or the skill's error. `within` is for models.
     */
    invoke(name: string, args?: unknown, within?: CallOverrides): Promise<unknown>
  }
  /**
   * Runs `effect` (a charge, an upload, a mail) once per key of this skill, such as
   * `charge:${orderId}`, across retries and restarts. Later calls return its result, as JSON.
   * Throws `call_unknown` if an earlier run was interrupted.
   */
  once(key: string, effect: () => unknown): Promise<Json>
  /**
   * Files of this conversation: attachments of its messages, and files made by skills. Up to 25 MB
   * each.
   */
  artifacts: {
    /**
     * Saves a file for all daemons. The result can be used in `attachments` of a reply or of
     * `gateway-send`.
     */
    save(name: string, type: string, data: FileData): Promise<Attachment>
    /**
     * Opens a file by the result of `save`, an attachment, or its path. Throws
     * `artifact_not_found`.
     */
    open(artifact: string | Pick<Attachment, 'sha256'>): Promise<Readable>
  }
  log: Log
  /** Aborts at the deadline, on cancellation, and when a draining daemon's grace period ends. */
  signal: AbortSignal
  /** The daemon's services. */
  services: Services
  /** The caller, and what this invocation shares with nested ones. */
  call: Call
}

/** Default argument schema: anything. */
export const ANY_ARGS = z.looseObject({})

/** The file beside a skill with its evaluation cases. */
export const CASES_FILE = 'cases.yaml'
/** The file beside a skill with the recordings of its evaluation cases. */
export const RECORD_FILE = 'cases.recorded.json'

/** Declares a code skill; infers its argument type. */
export function defineSkill<Args>(skill: Skill<Args>): Skill<Args> {
  return skill
}

/** Input JSON Schema (draft 2020-12) of a skill's arguments: those with a default are optional. */
export function skillJsonSchema(skill: Pick<Skill, 'args'>): JsonObject {
  const schema = toJson(z.toJSONSchema(skill.args, { io: 'input', unrepresentable: 'any' }))
  // The description belongs to the skill, not to its arguments.
  const { description: _, ...args } = isJsonObject(schema) ? schema : {}
  return args
}

/** JSON Schema of a skill's result; undefined without an `output` schema of an object. */
export function outputJsonSchema({ output }: Pick<Skill, 'output'>): JsonObject | undefined {
  const schema = output && toJson(z.toJSONSchema(output, { io: 'output', unrepresentable: 'any' }))
  return isJsonObject(schema) && schema.type === 'object' ? schema : undefined
}

/**
 * Where a skill comes from. `isBuiltIn`: it is an operation of Trivium, not just named like one.
 */
export type SkillOrigin = { isBuiltIn: boolean }

/** A layer around a skill, enabled by its name in the skill's metadata. */
export type Middleware = {
  /** The key in `metadata`. */
  name: string
  /** Position: lower values are further out. Shipped middleware leaves gaps of 100. */
  order: number
  /** One line for `trivium skill show`. */
  description: string
  /** Also applies to skills without the key. */
  always?: boolean
  /**
   * Validates a skill's settings (undefined without the key) and returns the layer, or undefined if
   * it does not apply. If it throws, the skill is broken.
   */
  setup(settings: unknown, skill: Skill, origin: SkillOrigin): MiddlewareLayer | undefined
}

/**
 * Called once per invocation, inside the outer layers. Calls `next` at most once and returns the
 * result.
 */
export type MiddlewareLayer = (ctx: SkillContext, next: () => Promise<unknown>) => Promise<unknown>

/** Declares a middleware, the default export of `middleware/<name>.ts` in a skills folder. */
export function defineMiddleware(middleware: Middleware): Middleware {
  return middleware
}

/** A skill's result as text. */
export function textOf(result: unknown): string {
  if (typeof result === 'string') return result
  const text: unknown = Object(result).text
  if (typeof text === 'string') return text
  return result === undefined || result === null ? '' : JSON.stringify(result)
}
