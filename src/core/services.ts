import type { ApprovalService } from './approval.ts'
import type { ArtifactService } from './artifacts.ts'
import type { Json } from './json.ts'
import type { OperationMethod } from './operation.ts'
import type { SessionMemory } from './session.ts'
import type { StateBackend, StateStoreName } from './state.ts'

/** `ctx.services`: what the runtime needs of other parts, and the operations that are skills. */
export type Services = {
  state: Record<StateStoreName, StateBackend>
  callbacks: Callbacks
  approvals: ApprovalService
  sessions: SessionMemory
  calls: Calls
  artifacts: ArtifactService
  /** A method of a service, for the skill of that operation. Throws an Error if there is none. */
  operation(service: string, method: string): OperationMethod
}

/** Calls with external effects that must not be repeated: the service behind `ctx.once`. */
export type Calls = {
  /**
   * See `SkillContext.once`. `key`: the full key, with the skill. `messageId`: the message for
   * which the call is made.
   */
  once(key: string, run: () => Promise<Json> | Json, messageId?: string): Promise<Json>
}

/** Functions in any process that skills call by their refs. */
export type Callbacks = {
  /** The live refs of an outermost invocation, sorted. */
  list(rootId: string): Promise<string[]>
  /**
   * Throws `callback_not_found`, `callback_released`, `callback_timeout`, or `callback_failed` if
   * the answer is an error.
   */
  invoke(ref: string, args: Json, signal: AbortSignal): Promise<Json>
}
