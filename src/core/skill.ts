import type { Readable } from 'node:stream'
import { type ZodType, z } from 'zod'
import type { Call, Within } from './call.ts'
import { isJsonObject, type Json, type JsonObject, toJson } from './json.ts'
import type { Log } from './log.ts'
import type { Attachment, Message } from './message.ts'
import type { FileData, Services } from './services.ts'

/** A skill: what a route, code, a model, the command line, HTTP and MCP invoke by name. */
export type Skill<Args = unknown> = {
  /** Lower-case letters, digits and dashes. */
  name: string
  description: string
  /** The arguments; the command line makes its flags from it, the model its tool parameters. */
  args: ZodType<Args>
  /** What it returns, where that is an object: MCP clients and OpenAPI get the schema, and what does not fit is an error. */
  output?: ZodType
  /** Names middleware and their settings: `session`, `timeout`, `approval`, a transport's `route`, … */
  metadata?: JsonObject
  run(ctx: SkillContext<Args>): unknown
  /** Makes a summary of at most so many tokens of what a session remembers; for `session: {summarize: true}`. */
  summarize?(ctx: SkillContext, history: string, maxTokens: number): Promise<string>
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
  manager: {
    /**
     * Validates and runs a skill, with the message, deadline and signal of the caller. Throws `skill_not_found`,
     * `skill_args_invalid`, `skill_timeout`, `recursion_limit`, `forbidden`, or what the skill threw. `within` is for models.
     */
    invoke(name: string, args?: unknown, within?: Within): Promise<unknown>
  }
  /**
   * Runs `effect` (a charge, an upload, a mail) once for its key within this skill, such as `charge:${orderId}`, over
   * retries and restarts; later calls get its result, as JSON. Throws `call_unknown` where an earlier run was cut off.
   */
  once(key: string, effect: () => unknown): Promise<Json>
  /** Files of this conversation: what its message brought, and what skills made. Up to 25 MB each. */
  artifacts: {
    /** Keeps it for all daemons. What it returns may stand in `attachments` of a reply or of `gateway-send`. */
    save(name: string, type: string, data: FileData): Promise<Attachment>
    /** Reads one, by what `save` returned, an attachment, or its path. Throws `artifact_not_found`. */
    open(artifact: string | Pick<Attachment, 'sha256'>): Promise<Readable>
  }
  log: Log
  /** Aborted at the deadline, on cancellation, and when the daemon drains past its grace. */
  signal: AbortSignal
  /** What the daemon offers to skills. */
  services: Services
  /** Who asked, and what the invocation has in common with those nested in it. */
  call: Call
}

/** The arguments of a skill that does not say which it takes. */
export const ANY_ARGS = z.looseObject({})

/** Beside a skill: the cases of its evaluation, and what was recorded of them. */
export const [CASES_FILE, RECORD_FILE] = ['cases.yaml', 'cases.recorded.json']

/** Declares a code skill with its argument type inferred. */
export function defineSkill<Args>(skill: Skill<Args>): Skill<Args> {
  return skill
}

/** The arguments of a skill as JSON Schema (draft 2020-12), as callers give them: what has a default is optional. */
export function skillJsonSchema(skill: Pick<Skill, 'args'>): JsonObject {
  const schema = toJson(z.toJSONSchema(skill.args, { io: 'input', unrepresentable: 'any' }))
  // What a skill does is said of the skill.
  const { description: _said, ...args } = isJsonObject(schema) ? schema : {}
  return args
}

/** What a skill returns as JSON Schema; undefined where it does not say, or it is no object. */
export function outputJsonSchema({ output }: Pick<Skill, 'output'>): JsonObject | undefined {
  const schema = output && toJson(z.toJSONSchema(output, { io: 'output', unrepresentable: 'any' }))
  return isJsonObject(schema) && schema.type === 'object' ? schema : undefined
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
  /** Validates a skill's settings, undefined where it has not the key, and returns the layer; none: it does not apply. A throw makes it broken. */
  setup(settings: unknown, skill: Skill): MiddlewareLayer | undefined
}

/** Called once per invocation, inside the layers further out. Must call `next` at most once; returns the result. */
export type MiddlewareLayer = (ctx: SkillContext, next: () => Promise<unknown>) => Promise<unknown>

/** Declares a middleware: the default export of `middleware/<name>.ts` in a skills folder. */
export function defineMiddleware(middleware: Middleware): Middleware {
  return middleware
}

/** The text of what a skill returned. */
export function textOf(result: unknown): string {
  if (typeof result === 'string') return result
  const text: unknown = Object(result).text
  if (typeof text === 'string') return text
  return result === undefined || result === null ? '' : JSON.stringify(result)
}
