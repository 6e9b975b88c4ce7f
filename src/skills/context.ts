import { randomUUID } from 'node:crypto'
import { type Call, createSendCounter, type InvokeOptions } from '../core/call.ts'
import { toJson } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { Services } from '../core/services.ts'
import type { SkillContext } from '../core/skill.ts'
import { defined } from '../lib/defined.ts'

/** What all invocations of a process have in common. */
export type Shared = { services: Services; globals: Record<string, unknown>; log: Log }

/** The call of an outermost invocation. */
export function createRootCall(
  skill: string,
  options: InvokeOptions & { rootId: string },
  signal: AbortSignal,
): Call {
  const { message, route, model, onText } = options
  return {
    rootId: options.rootId,
    trace: options.trace ?? message?.trace ?? randomUUID().replaceAll('-', ''),
    caller: options.caller ?? { kind: 'code' },
    sends: options.sends ?? createSendCounter(),
    ...defined({ message, route, model, onText }),
    skill,
    depth: 0,
    signal,
  }
}

/** The context of one invocation. `nested` gets the context itself, for the signal that is in force when it is called. */
export function createContext(
  shared: Shared,
  call: Call,
  args: unknown,
  nonlocals: Record<string, unknown>,
  nested: (outer: SkillContext, name: string, args: unknown) => Promise<unknown>,
): SkillContext {
  let log: Log | undefined
  const ctx: SkillContext = {
    args,
    ...(call.message ? { message: call.message } : {}),
    locals: {},
    nonlocals,
    globals: shared.globals,
    manager: { invoke: (name, nestedArgs) => nested(ctx, name, nestedArgs) },
    once: (key, effect) =>
      shared.services.calls.once(`${call.skill}/${key}`, async () => toJson(await effect())),
    artifacts: {
      save: (name, type, data) => shared.services.artifacts.save({ name, type, data }, call),
      open: (artifact) => shared.services.artifacts.open({ artifact }, call),
    },
    // Most invocations write no line, and a logger of one's own costs more than all the rest here.
    get log() {
      log ??= shared.log.child({ skill: call.skill, trace: call.trace })
      return log
    },
    get signal() {
      return call.signal
    },
    set signal(value) {
      call.signal = value
    },
    services: shared.services,
    call,
  }
  return ctx
}
