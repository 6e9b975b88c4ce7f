import { TriviumError } from './errors.ts'
import type { Message } from './message.ts'
import type { ApprovalSettings } from './route.ts'

/**
 * Who made the outermost call. `roles` come from access rules and tokens; for a route, `id` is an
 * identity (`identityOf`).
 */
export type Caller = {
  kind: 'route' | 'cli' | 'http' | 'mcp' | 'code'
  id?: string
  roles?: readonly string[]
  /** The identities of the transport are case-insensitive (email), and `id` is in lower case. */
  caseless?: boolean
  /** The caller's groups at its provider, such as Slack user groups. */
  groups?: readonly string[]
  /** The gateways whose messages the caller may see and answer. Absent: all. */
  gateways?: readonly string[]
  /** The skills (names or globs) that a program's token allows. Absent for other callers. */
  skills?: readonly string[]
}

/** A program's bearer token, and the skills and gateways (`*`: all) that it allows. */
export type ProgramToken = {
  name: string
  token: string
  skills: readonly string[]
  gateways: readonly string[]
}

/** Throws `forbidden` if the caller has no access to the gateway. */
export function requireGateway({ gateways }: Caller, gateway: string): void {
  if (!gateways || gateways.includes(gateway)) return
  const reason = `its token only allows the gateways ${gateways.join(', ')}`
  throw new TriviumError('forbidden', { what: `Reaching gateway ${gateway}`, reason })
}

/**
 * One invocation, as services see it. Nested calls share everything except `signal`, `skill` and
 * `depth`.
 */
export type Call = {
  /**
   * Id of the outermost invocation: `rootContextId` of its events, and owner of its consumer
   * groups.
   */
  rootId: string
  /** W3C trace id (32 hex digits): the message's, or a new one. */
  trace: string
  caller: Caller
  message?: Message
  /** The route that dispatched the message. */
  route?: string
  /**
   * Numbers the sends of the outermost invocation, so that a retry gives each send the same key.
   */
  sends: SendCounter
  /** Default model of markdown skills. */
  model?: string
  /** Called for each step of the model. */
  onModel?: (step: ModelStep) => void
  /** Called when the outermost skill has ended, with how long it ran (ms). */
  onRan?: (ms: number) => void
  steer?: Steer
  /** The running skill. */
  skill: string
  /** The nesting depth of the running skill; 0: the outermost. */
  depth: number
  /** The calling skill. Absent for the outermost invocation. */
  by?: string
  /** The arguments as given, before the skill's schema dropped unknown ones. */
  given?: unknown
  /**
   * The depth at which a model calls its tools. Such calls count as requests of the message's
   * author.
   */
  toolDepth?: number
  /** In a dispatched model run: the tool call that led here. Stable when the run is resumed. */
  place?: string
  /** The run of the skill, for its cost. The same in copies of the call. */
  run?: object
  /** Set on a tool call that needs an approval. */
  guard?: Guard | undefined
  /**
   * Asks the person behind the call, if the client supports it. Resolves with undefined without an
   * answer, or if `signal` aborts.
   */
  askUser?: (question: Question, signal: AbortSignal) => Promise<string | undefined>
  signal: AbortSignal
}

/** A question to a person. `options`: the accepted answers. */
export type Question = { question: string; options?: readonly string[] | undefined }

/** Overrides of a nested call, for a tool call of a model. */
export type CallOverrides = Partial<Pick<Call, 'place' | 'sends' | 'guard'>>

/**
 * Guards a call that needs an approval. `onStart` durably records that the approved call starts.
 * `rerunKey`: an earlier attempt was interrupted and may have taken effect, so the call needs a new
 * approval, which is requested once per key.
 */
export type Guard = { onStart(): Promise<void>; rerunKey?: string }

/**
 * Messages that arrived in the conversation while a model runs, oldest first; `listen` takes more.
 */
export type Steer = { readonly messages: readonly Message[]; listen(): Promise<void> }

/**
 * What a model says, or the tool it calls; with neither, it is thinking. `known`: the step is
 * replayed; it ran before a crash or a retry.
 */
export type ModelStep = { text?: string; tool?: string; known?: boolean }

/** The caller as shown in a message's history: `route NAME`, or the kind and id of the caller. */
export function callerLabel({ route, caller }: Call): string {
  return route === undefined ? [caller.kind, caller.id].filter(Boolean).join(' ') : `route ${route}`
}

/** Numbers and counts the sends of a call. */
export type SendCounter = {
  /** The ordinal of the next send: 0, 1, 2, … */
  next(): string
  /** Reports that the last send was refused, so that it does not count. Its ordinal stays used. */
  refused(): void
  /** Adds sends that another counter numbered. */
  add(sent: number): void
  /** The number of sends. */
  readonly count: number
}

/**
 * Options of an outermost call. In dispatch, `rootId` is the same in all attempts; `sends` shows
 * whether the skill replied.
 */
export type InvokeOptions = Partial<
  Pick<
    Call,
    | 'caller'
    | 'message'
    | 'route'
    | 'trace'
    | 'rootId'
    | 'sends'
    | 'onModel'
    | 'onRan'
    | 'askUser'
    | 'steer'
    | 'model'
    | 'signal'
  >
> & {
  /** Time limit in ms for the whole invocation; nested calls share the deadline. */
  timeout?: number
  nonlocals?: Record<string, unknown>
  /**
   * The outermost skill needs an approval. The settings given here take precedence over its
   * metadata.
   */
  approval?: boolean | ApprovalSettings
}

/** A new counter; its ordinals start with `place`. */
export function createSendCounter(place = ''): SendCounter {
  let ordinal = 0
  // A plain property: an accessor would turn each counter, one per message, into a dictionary-mode
  // object.
  const counter = {
    count: 0,
    next() {
      counter.count++
      return `${place}${ordinal++}`
    },
    refused: () => void counter.count--,
    add(sent: number) {
      counter.count += sent
    },
  }
  return counter
}

const RESUMED_LATER = /^(approval_pending|budget_exhausted|skill_paused)$/

/**
 * Whether a run that threw will be resumed: it waits for a decision, a budget or a paused skill, or the
 * daemon is stopping. The message is then redelivered.
 */
export function willResume(error: unknown, { signal }: Pick<Call, 'signal'>): boolean {
  return signal.aborted || (error instanceof TriviumError && RESUMED_LATER.test(error.code))
}

/**
 * Origin of a call: the gateway of the message that started it, else `cli`, `http`, `mcp` or
 * `code`.
 */
export function channelOf({ message, caller }: Call): string {
  return message?.gateway ?? caller.kind
}
