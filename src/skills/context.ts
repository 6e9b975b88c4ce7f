import { randomUUID } from 'node:crypto'
import { type Call, createSendCounter, type InvokeOptions } from '../core/call.ts'
import { toJson } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { Services } from '../core/services.ts'
import type { SkillContext, SkillInvoker } from '../core/skill.ts'

/** What all invocations of a process have in common. */
export type Shared = { services: Services; globals: Record<string, unknown>; log: Log }

/** The call of an outermost invocation. */
export function createRootCall(skill: string, options: InvokeOptions, signal: AbortSignal): Call {
  const rootId = options.rootId ?? randomUUID()
  const { message, route, model, onText } = options
  return {
    rootId,
    trace: options.trace ?? message?.trace ?? randomUUID().replaceAll('-', ''),
    caller: options.caller ?? { kind: 'code' },
    sends: options.sends ?? createSendCounter(),
    ...(message ? { message } : {}),
    ...(route ? { route } : {}),
    ...(model ? { model } : {}),
    ...(onText ? { onText } : {}),
    skill,
    depth: 0,
    signal,
  }
}

/**
 * The context of one invocation. `manager` is made from the context itself, so that nested calls see the signal that
 * is in force when they are made.
 */
export function createContext(
  shared: Shared,
  call: Call,
  args: unknown,
  nonlocals: Record<string, unknown>,
  managerFor: (ctx: SkillContext) => SkillInvoker,
): SkillContext {
  let log: Log | undefined
  const ctx: Omit<SkillContext, 'manager'> & { manager?: SkillInvoker } = {
    args,
    ...(call.message ? { message: call.message } : {}),
    locals: {},
    nonlocals,
    globals: shared.globals,
    once: (key, effect) =>
      shared.services.calls.once(`${call.skill}/${key}`, async () => toJson(await effect())),
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
  return withManager(ctx, managerFor)
}

function withManager(
  ctx: Omit<SkillContext, 'manager'>,
  managerFor: (ctx: SkillContext) => SkillInvoker,
): SkillContext {
  const whole: SkillContext = Object.assign(ctx, { manager: { invoke: notReady } })
  whole.manager = managerFor(whole)
  return whole
}

const notReady = () => Promise.reject(new Error('the context is still being made'))
