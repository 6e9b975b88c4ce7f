import type { SendCounter, Steer } from '../core/call.ts'
import type { Log } from '../core/log.ts'
import type { Message } from '../core/message.ts'
import type { Route } from '../core/route.ts'
import type { ClaimedJob, Note, Store } from '../core/store.ts'
import type { RunOutcome } from './attempts.ts'
import type { Voice } from './dispatch-transcripts.ts'
import type { Outbox } from './outbox.ts'
import type { Router } from './router.ts'

/** Input of a route's target (skill or queue job). */
export type Dispatch = {
  message: Message
  /** Messages merged into this call while the conversation was busy, oldest first. */
  collected: readonly Message[]
  /** For routes with `while-busy: steer`. */
  steer?: Steer
  route: Route
  attempt: number
  /** Not a retry, and not resumed after an approval or a wait for a budget. */
  isFirst: boolean
  /** The message is on no road: only listeners get it. */
  isAside: boolean
  /** Numbers the replies of this attempt. */
  sends: SendCounter
  /** How long (ms) the skill ran, without the work around it. Set when it has ended. */
  skillMs?: number
  signal: AbortSignal
}

/** The target of a route. Resolves with the result, from which the reply is made. */
export type Target = (dispatch: Dispatch) => Promise<unknown>

/** Durations in seconds. */
type DispatchMetrics = {
  dispatched(route: string, outcome: 'done' | 'retry' | 'dead' | 'dropped', seconds: number): void
  /** Messages that no route matches. */
  unrouted(count: number): void
  latency(gateway: string, seconds: number): void
}

export type DispatchOptions = {
  store: Pick<Store, 'jobs' | 'journal' | 'onSignal'>
  concurrency: number
  router: Pick<Router, 'match' | 'routes'>
  /**
   * Called with the route of each message when it is first dispatched; must cost almost nothing.
   */
  matched?(route: string): void
  /** Whether a job must wait because its target is paused. */
  isHeld?(job: ClaimedJob): boolean
  /**
   * Records that a message waits for the paused skill that its run called. It is held then. Returns false
   * if the skill is no longer paused: the message runs again.
   */
  holdCall?(message: Message, skill: string): Promise<boolean>
  /** How long (ms) ended pauses held a job between two times (Unix ms). This is no latency. */
  heldFor?(job: ClaimedJob, from: number, to: number): number
  /** Whether a message must not be merged into another call, regardless of the route. */
  mustNotMerge?(message: Message): boolean
  /**
   * Whether the messages of a route are handled without waiting for others of their conversation.
   */
  isUnordered?(route: string): boolean
  /** Whether a person waits for the listeners' reaction to a message. */
  isUrgent?(message: Message): boolean
  voice?: Voice | undefined
  /**
   * For a message that a person handles: the note to store instead of running the target; undefined
   * for others. May throw, like `invoke`.
   */
  handled?(dispatch: Dispatch): Note | undefined
  /** Runs the target of a route, a skill or a queue job. Must end soon after `signal` aborts. */
  invoke: Target
  unrouted?(messages: readonly Message[]): unknown
  /** Called for a message that is passed to a running model. */
  steered?(message: Message): unknown
  /** Called when a message needs no more attempts, to clean up after its invocations. */
  ended?(message: Message): void
  /** Called once the outcome of an attempt is stored. */
  settled?(message: Message, outcome: RunOutcome): void
  outbox: Pick<Outbox, 'reply'>
  /** Redacts secrets in what a target returned. */
  clean(text: string): string
  metrics: DispatchMetrics
  log: Log
  now(): number
}
