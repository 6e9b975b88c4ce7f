import type { Request, RequestHandler, Response } from 'express'
import type { Config } from '../config/load-config.ts'
import type { ArtifactService } from '../core/artifacts.ts'
import type { RecordAudit } from '../core/audit.ts'
import type { Caller, InvokeOptions, ProgramToken } from '../core/call.ts'
import type { Json } from '../core/json.ts'
import type { Submission } from '../core/message.ts'
import type { Trouble } from '../core/trouble.ts'
import type { Reader } from '../features/live/stream.ts'
import type { Oidc } from '../features/sign-in/oidc.ts'
import type { Sessions } from '../features/sign-in/sessions.ts'

/** Dependencies of the control API. */
export type ControlDeps = {
  /** The control token. */
  token(): string
  /**
   * Replaces the generated control token, and returns its file. Throws `bad_request` if the token
   * was given.
   */
  rotateToken(): Promise<{ file: string }>
  /** Closes all connections: their callers were authorised by a token that has ended. */
  hangUp(): void
  /** The currently valid tokens of programs. */
  tokens(): readonly ProgramToken[]
  /** The current section `console:`. */
  console(): Config['console']
  sessions: Sessions
  /** Adds to the audit log. */
  record: RecordAudit
  oidc: Oidc
  /** Runs a skill; each call is a separate invocation. */
  invoke(name: string, args: unknown, options: InvokeOptions): Promise<unknown>
  /** All skills with the schemas of their arguments and results. */
  skills(): Json
  version: string
  /** The AsyncAPI description. */
  asyncapi(): Promise<object>
  /**
   * A skill's arguments and middleware, whose settings are shown without secrets unless the caller
   * may see them. Throws `skill_not_found`.
   */
  describe(name: string, seesSecrets: boolean): Json
  status(): Promise<Json>
  /** Current troubles, in the order of urgency. */
  troubles(): Promise<readonly Trouble[]>
  /** Checks the store and all gateways, or one of them. May send a test mail. */
  doctor(gateway?: string): Promise<Json>
  /** Results of the last checks; runs none. */
  diagnosis(): Promise<Json>
  /** Submits a message as if it had arrived at a gateway; waits `wait` ms for replies. */
  submit(submission: Submission, signal: AbortSignal): Promise<Json>
  /** Explains which routes match a message: an accepted one by id, or a draft. */
  explain(what: string | Submission): Promise<Json>
  /** The message that a submission would become. Accepts nothing. */
  draft(submission: Submission): Promise<Json>
  /** The last good configuration, without secrets. */
  configuration(): Json
  reload(): Promise<Json>
  /** The points of a time range (Unix ms) within the last week, for charts. */
  history(since: number, until: number): object
  /** Subscribes a reader to live events. Returns a function that unsubscribes. */
  read(reader: Reader): () => void
  artifacts: ArtifactService
  /** Bull Board, to be mounted at `path`; undefined without queues. */
  board(path: string): Promise<RequestHandler | undefined>
  /** Whether the store answers and both listeners listen; else the reason. */
  ready(): Promise<{ ok: boolean; detail: Json }>
  metrics(): Promise<{ type: string; body: string }>
  /** Handles an MCP request. */
  mcp(request: Request, response: Response, caller: Caller): unknown
}
