import type { SendCounter, Steer } from '../core/call.ts'
import type { Log } from '../core/log.ts'
import type { Message } from '../core/message.ts'
import type { Route } from '../core/route.ts'
import type { ClaimedJob, Store } from '../core/store.ts'
import type { Outbox } from './outbox.ts'
import type { Router } from './router.ts'

/** What the invocation of a route's skill, or the job of its queue, brings along; `sends` numbers the replies of this attempt. */
export type Dispatch = {
  message: Message
  /** What went into this call while the conversation was busy, oldest first. */
  collected: readonly Message[]
  /** Where the route says `while-busy: steer`. */
  steer?: Steer
  route: Route
  attempt: number
  /** Neither a repeated attempt nor resumed after an approval. */
  isFirst: boolean
  /** It is on none of the roads: only listeners hear it. */
  isAside: boolean
  sends: SendCounter
  signal: AbortSignal
}

/** What answers the messages of a route: resolves with what the reply is made of. */
export type Target = (dispatch: Dispatch) => Promise<unknown>

/** Durations in seconds. */
type DispatchMetrics = {
  dispatched(route: string, outcome: 'done' | 'retry' | 'dead' | 'unrouted', seconds: number): void
  latency(gateway: string, seconds: number): void
}

/** What dispatch is made of. */
export type DispatchOptions = {
  store: Pick<Store, 'jobs' | 'journal' | 'onSignal'>
  concurrency: number
  router: Pick<Router, 'match' | 'routes'>
  /** Whether a job waits, because what it is for is paused. */
  isHeld?(job: ClaimedJob): boolean
  /** Whether a message goes into the call of no other one, whatever the route says. */
  isAlone?(message: Message): boolean
  /** Whether a person waits for what listeners do with a message. */
  isUrgent?(message: Message): boolean
  /** Runs the target of a route, its skill or a job of its queue. Must end soon after `signal` aborts. */
  invoke: Target
  unrouted?(message: Message): unknown
  /** Called for a message that goes to a model which runs. */
  steered?(message: Message): unknown
  /** Called when a message needs no more attempts, so that what its invocations left behind can go. */
  ended?(message: Message): void
  /** Called once it is stored how an attempt ended; `isDone`: nothing is left to do. */
  settled?(message: Message, isDone: boolean): void
  outbox: Pick<Outbox, 'reply'>
  metrics: DispatchMetrics
  log: Log
  now(): number
}
