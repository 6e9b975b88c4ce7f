import type { Call, CallOverrides } from '../core/call.ts'
import { reasonOf } from '../core/errors.ts'
import { toJson } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { Message } from '../core/message.ts'
import type { Services } from '../core/services.ts'
import type { SkillContext } from '../core/skill.ts'

/** Runs a nested skill, with a call derived from the outer one. */
export type RunNested = (
  call: Call,
  args: unknown,
  nonlocals: Record<string, unknown>,
  within: CallOverrides,
) => Promise<unknown>

/**
 * Returns the function that makes the context of an invocation. Most skills use only a few members,
 * so closures and loggers are created on demand. A class keeps the accessors on the prototype; in
 * an object literal they would make each context a (slow) dictionary-mode object.
 */
export function createContexts(shared: {
  globals: Record<string, unknown>
  services: Services
  log: Log
  run: RunNested
}): (call: Call, args: unknown, nonlocals: Record<string, unknown>) => SkillContext {
  const { services } = shared
  class Context implements SkillContext {
    args: unknown
    declare message?: Message
    locals: Record<string, unknown> = {}
    nonlocals: Record<string, unknown>
    globals = shared.globals
    services = services
    call: Call
    #log: Log | undefined
    #manager: SkillContext['manager'] | undefined

    constructor(call: Call, args: unknown, nonlocals: Record<string, unknown>) {
      this.args = args
      if (call.message) this.message = call.message
      this.nonlocals = nonlocals
      this.call = call
    }

    get manager() {
      this.#manager ??= { invoke: (name, args, within) => this.#invoke(name, args, within) }
      return this.#manager
    }

    set manager(value) {
      this.#manager = value
    }

    get once(): SkillContext['once'] {
      const { skill, message } = this.call
      return (key, effect) => {
        const run = async () => toJson(await effect())
        return services.calls.once(`${skill}/${key}`, run, message?.id)
      }
    }

    get artifacts(): SkillContext['artifacts'] {
      return {
        save: (name, type, data) => services.artifacts.save({ name, type, data }, this.call),
        open: (artifact) => services.artifacts.open({ artifact }, this.call),
      }
    }

    get log() {
      const { skill, trace, message } = this.call
      this.#log ??= shared.log.child({ skill, trace, ...(message && { messageId: message.id }) })
      return this.#log
    }

    get signal() {
      return this.call.signal
    }

    set signal(value) {
      this.call.signal = value
    }

    #invoke(name: string, args: unknown, within: CallOverrides = {}): Promise<unknown> {
      const { skill: by, depth } = this.call
      // Layers may have replaced the signal: the current one counts.
      const nested = { skill: name, by, depth: depth + 1, signal: this.signal }
      const inner = { ...this.call, guard: undefined, ...within, ...nested }
      const result = shared.run(inner, args, this.nonlocals, within)
      // A forgotten `await` must not end the process.
      result.catch((error) =>
        this.log.debug({ invoked: name, reason: reasonOf(error) }, 'an invocation failed'),
      )
      return result
    }
  }
  return (call, args, nonlocals) => new Context(call, args, nonlocals)
}
