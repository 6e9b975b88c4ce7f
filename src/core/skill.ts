import type { ZodType } from 'zod'
import type { JsonObject } from './json.ts'
import type { Log } from './log.ts'
import type { Message } from './message.ts'

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
  log: Log
  /** Aborted at the deadline, on cancellation, and when the daemon drains past its grace. */
  signal: AbortSignal
}

export type SkillInvoker = {
  /**
   * Validates and runs a skill. A nested call inherits message, trace, deadline and signal.
   * Throws `skill_not_found`, `skill_args_invalid`, `skill_timeout`, `recursion_limit`, `forbidden`, or what the skill threw.
   */
  invoke(name: string, args?: unknown): Promise<unknown>
}

/** Declares a code skill with its argument type inferred. */
export function defineSkill<Args>(skill: Skill<Args>): Skill<Args> {
  return skill
}
