import { TriviumError } from './errors.ts'
import type { Message } from './message.ts'

/** Who made the outermost call. `roles` come from access rules and tokens; `id` of a route's is an identity (`identityOf`). */
export type Caller = {
  kind: 'route' | 'cli' | 'http' | 'mcp' | 'code'
  id?: string
  roles?: readonly string[]
  /** The identity comes from a transport without case, such as email, and is in lower case. */
  caseless?: boolean
  /** The groups of its provider that it is in, such as Slack's user groups. */
  groups?: readonly string[]
  /** The gateways whose messages it may see and answer; absent: all. */
  gateways?: readonly string[]
  /** The skills, by name or glob, that a program with a token may ask for; absent for everybody else. */
  skills?: readonly string[]
}

/** A program's bearer token, and what it may do with it: these skills, on these gateways (`*`: on all). */
export type ProgramToken = {
  name: string
  token: string
  skills: readonly string[]
  gateways: readonly string[]
}

/** Throws `forbidden` where the caller may have nothing to do with the messages of a gateway. */
export function requireGateway({ gateways }: Caller, gateway: string): void {
  if (!gateways || gateways.includes(gateway)) return
  const reason = `its \`gateways\` in \`tokens\` are ${gateways.join(', ')}`
  throw new TriviumError('forbidden', { what: `Reaching gateway ${gateway}`, reason })
}

/** One invocation, as services see it. Nested calls share everything but `signal`, `skill` and `depth`. */
export type Call = {
  /** Names the outermost invocation: `rootContextId` of the events it emits, owner of its own consumer groups. */
  rootId: string
  /** W3C trace id (32 hex digits): the message's, else one of its own. */
  trace: string
  caller: Caller
  message?: Message
  /** The route that dispatched it. */
  route?: string
  /** Numbers the sends of the outermost invocation, so that a repeated one gives each the same key again. */
  sends: SendCounter
  /** The default model of markdown skills that name none, and who is told what a model does. */
  model?: string
  onModel?: (does: ModelStep) => void
  steer?: Steer
  /** The skill that runs, and how many invocations it is nested in (0: the outermost). */
  skill: string
  depth: number
  /** The skill that invoked it; absent for the outermost. */
  by?: string
  /** The arguments as they came, before the skill's schema dropped what it does not name. */
  given?: unknown
  /** The depth at which a model calls its tools; those are asked for by whoever wrote the message. */
  toolDepth?: number
  /** Within a dispatched run of a model: which of its calls of a tool led here, the same when the run is gone on with. */
  place?: string
  /** Set on a call of a tool that runs only once somebody has approved it. */
  guard?: Guard | undefined
  /** Asks the person behind the call, where the client has a way to. Undefined: they gave no answer, or `signal` aborted. */
  asks?: (question: Question, signal: AbortSignal) => Promise<string | undefined>
  signal: AbortSignal
}

/** `options`: the only answers that there are. */
export type Question = { question: string; options?: readonly string[] | undefined }

/** What a tool of a model is called with, in place of what its caller has. */
export type Within = Partial<Pick<Call, 'place' | 'sends' | 'guard'>>

/** `begins` makes it durable that an approved call runs now. `again`: it was cut off and may have happened; each is asked for by itself. */
export type Guard = { begins(): Promise<void>; again?: string }

/** What came in the conversation while a model runs: all that this message's call took so far, oldest first; `listen` takes more. */
export type Steer = { readonly messages: readonly Message[]; listen(): Promise<void> }

/** What a model says, or the tool that it calls; with neither it thinks. `known`: it said so before a crash or a retry. */
export type ModelStep = { text?: string; tool?: string; known?: boolean }

/** Who calls, for the history of a message. */
export function whoCalls({ route, caller }: Call): string {
  return route === undefined ? [caller.kind, caller.id].filter(Boolean).join(' ') : `route ${route}`
}

/** `next()` gives the ordinals 0, 1, 2, …; `count` is how many were sent, those that `add` told of elsewhere among them. */
export type SendCounter = {
  next(): string
  /** The last one is not sent. */
  refused(): void
  add(sent: number): void
  readonly count: number
}

/** What an outermost call may bring. A dispatcher's `rootId` stays over retries; `sends` tells whether the skill replied. */
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
    | 'asks'
    | 'steer'
    | 'model'
    | 'signal'
  >
> & {
  /** Ms for the whole invocation; nested calls share the deadline. */
  timeout?: number
  nonlocals?: Record<string, unknown>
  /** The outermost skill runs only once somebody approved it, whatever its own metadata says. */
  approval?: boolean
}

/** A fresh counter, whose ordinals begin with `place`. */
export function createSendCounter(place = ''): SendCounter {
  let given = 0
  // A plain property: with an accessor each counter would be a slow object, and there is one for each message.
  const counter = {
    count: 0,
    next() {
      counter.count++
      return `${place}${given++}`
    },
    refused: () => void counter.count--,
    add(sent: number) {
      counter.count += sent
    },
  }
  return counter
}

const WAITS = /^(approval_pending|budget_exhausted)$/

/** Whether a run that threw goes on later: it waits for somebody, or the daemon stops, and the same message comes again. */
export function goesOn(error: unknown, { signal }: Pick<Call, 'signal'>): boolean {
  return signal.aborted || (error instanceof TriviumError && WAITS.test(error.code))
}
