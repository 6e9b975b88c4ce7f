import type { Request, RequestHandler, Response } from 'express'
import type { RecordAudit } from '../core/audit.ts'
import type { Caller, InvokeOptions, ProgramToken } from '../core/call.ts'
import type { ConsoleConfig } from '../core/console.ts'
import type { Json } from '../core/json.ts'
import type { Submission } from '../core/message.ts'
import type { ArtifactService } from '../core/services.ts'
import type { Trouble } from '../core/trouble.ts'
import type { Reader } from '../features/live/stream.ts'
import type { Oidc } from '../features/sign-in/oidc.ts'
import type { Sessions } from '../features/sign-in/sessions.ts'

/** What the control API offers to those who hold the token. */
export type ControlDeps = {
  token: string
  /** The tokens of programs that are valid now. */
  tokens(): readonly ProgramToken[]
  /** The section `console:` as it is now. */
  console(): ConsoleConfig
  sessions: Sessions
  /** Adds to the audit log. */
  record: RecordAudit
  oidc: Oidc
  /** Runs a skill; each call is an invocation of its own. */
  invoke(name: string, args: unknown, options: InvokeOptions): Promise<unknown>
  skills(): Json
  version: string
  asyncapi(): object
  /** What a skill takes and the layers around it. Throws `skill_not_found`. */
  describe(name: string): Json
  status(): Promise<Json>
  /** What is wrong or waits for a person, errors first. */
  troubles(): Promise<readonly Trouble[]>
  /** Checks the store and every gateway, or one of them: it may send a mail to itself. */
  doctor(gateway?: string): Promise<Json>
  /** What the last checks found; nothing is tried. */
  diagnosis(): Promise<Json>
  /** Puts a message through a gateway as if it had come from outside; waits `wait` ms for replies. */
  submit(submission: Submission, signal: AbortSignal): Promise<Json>
  /** Why each route takes a message or not: an accepted one by its id, or one that is only thought of. */
  explain(what: string | Submission): Promise<Json>
  /** routes.yaml as it was last read well, without secrets. */
  configuration(): Json
  reload(): Promise<Json>
  /** The last hour, for charts. */
  history(): object
  /** Shows a reader what happens, until what it returns is called. */
  read(reader: Reader): () => void
  artifacts: ArtifactService
  /** Bull Board, to be mounted at `path`; undefined where no route has a queue. */
  board(path: string): Promise<RequestHandler | undefined>
  /** The store answers and both listeners listen; the reason where not. */
  ready(): Promise<{ ok: boolean; detail: Json }>
  metrics(): Promise<{ type: string; body: string }>
  mcp(request: Request, response: Response, caller: Caller): unknown
}
