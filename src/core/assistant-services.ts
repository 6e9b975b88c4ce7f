import type { Json, JsonObject } from './json.ts'
import type { Call } from './skill.ts'

/**
 * A note, `memory-1` and so on. `channel`: the gateway where it was given (with the conversation, where the
 * sender is not verified), or `cli`, `http`, `mcp`. Times are ISO 8601.
 */
export type RememberedNote = { id: string; text: string; channel: string; time: string }

/** One search that was made, kept under `searches`. `ref` names the note, or when and who of the transcript. */
export type RecordedSearch = {
  id: string
  query: string
  channel: string
  time: string
  results: { source: 'note' | 'message'; ref: string; text: string; channel: string; score: number }[]
}

/** Work given to a worker. */
export type DelegatedWork = {
  id: string
  kind: 'task' | 'digest'
  worker: string
  task: string
  channel: string
  status: 'queued' | 'working' | 'done' | 'failed'
  time: string
  takenBy?: string
  finished?: string
  result?: Json
}

/**
 * The assistant's durable state. What a method did is durable when it resolves, and in events.jsonl; what adds to it
 * throws `limit_reached` at its bound. A call
 * that began with a message of which the transport cannot tell the sender reaches the notes of its own
 * conversation and no others.
 */
export type AssistantService = {
  remember(args: { text: string }, call: Call): Promise<RememberedNote>
  /** Oldest first; with `query` the notes that contain each of its words; with `limit` the newest so many. */
  recall(args: { query?: string; limit?: number }, call: Call): Promise<RememberedNote[]>
  /** Throws `not_found`. */
  forget(args: { id: string }, call: Call): Promise<RememberedNote>
  /** Full text over notes and transcripts; `in` is one channel. */
  search(args: { query: string; in?: string; limit: number }, call: Call): Promise<RecordedSearch>
  delegate(args: { worker: string; task: string }, call: Call): Promise<DelegatedWork>
  /** For the worker `digest`; one about the same that waits already is returned instead. */
  queueDigest(args: { topic?: string }, call: Call): Promise<DelegatedWork>
  /** The oldest queued work of a worker, for nobody else; null where there is none. */
  take(args: { worker: string; by?: string }, call: Call): Promise<DelegatedWork | null>
  /** Accepts a worker's result, once; a repeated one returns what stands. Throws `not_found`. */
  accept(args: { id: string; result: Json; failed: boolean }): Promise<DelegatedWork>
  delegations(args: { status?: DelegatedWork['status']; worker?: string }): Promise<DelegatedWork[]>
}

/** A stored schedule. `every` in ms; `next`: the next planned time, Unix ms. */
export type ScheduleInfo = {
  id: string
  name: string
  cron?: string
  every?: number
  timezone: string
  misfire: 'skip' | 'once' | { within: number }
  skill: string
  args: JsonObject
  channel: string
  created: string
  next?: number
  /** Who made it by a message: the skill runs with their rights. Absent: an operator. */
  by?: { id: string; roles: string[] }
}

export type ScheduleService = {
  /**
   * Stores a schedule, due from now on: cron in a time zone, or `every` ms. Its runs have the rights of who made it.
   * Throws `usage` for what cannot be read, `skill_not_found`, `limit_reached`, and `forbidden` for a message whose
   * sender is not verified.
   */
  create(
    args: {
      name?: string
      skill: string
      cron?: string
      every?: number
      timezone?: string
      /** `skip`, `once` or `within: 5m`. */
      misfire: string
      args: JsonObject
    },
    call: Call,
  ): Promise<ScheduleInfo>
  list(): Promise<ScheduleInfo[]>
  delete(args: { id: string }): Promise<{ ok: boolean; existed: boolean }>
}

/** What the next session needs to go on; see docs/state.md. */
export type WorkbenchState = {
  active_task_id: string | null
  touched_files: string[]
  assumptions: string[]
  risks: string[]
  next_action: string
}

/** A task of the board: `build` has `acceptance`, `review` has `target` and perhaps `reviewer`. */
export type WorkbenchTask = {
  id: string
  kind: 'build' | 'review'
  title: string
  status: 'open' | 'claimed' | 'done'
  owner?: string
  result?: string
}

export type NewWorkbenchTask =
  | { kind: 'build'; title: string; acceptance: string[] }
  | { kind: 'review'; title: string; target: string }
  | { kind: 'review'; title: string; target: string; reviewer: string }

/** The workbench of the project. Writes throw `state_human_touch` (retryable) within 5 s of a person's edit. */
export type WorkbenchService = {
  get(): Promise<WorkbenchView>
  /** `set` replaces fields, `add` appends to lists what is not in them; `expect` as `document_conflict` says. */
  update(
    args: {
      set?: Partial<WorkbenchState>
      add?: Partial<Pick<WorkbenchState, 'touched_files' | 'assumptions' | 'risks'>>
      expect?: number
    },
    call: Call,
  ): Promise<WorkbenchView['state']>
  addTask(args: NewWorkbenchTask, call: Call): Promise<WorkbenchTask>
  /** The oldest open task without `id`; null where none is open. Throws `not_found`, `forbidden`. */
  claim(args: { id?: string; owner?: string }, call: Call): Promise<WorkbenchTask | null>
  finish(args: { id: string; owner?: string; result?: string }, call: Call): Promise<WorkbenchTask>
}

export type WorkbenchView = {
  dir: string
  state: { revision: number; document: JsonObject }
  board: { revision: number; document: JsonObject }
}

/** Calls with effects outside, each made once: what `ctx.once` works on. */
export type CallService = {
  /** See `SkillContext.once`; `key` is the whole key here. */
  once(key: string, run: () => Promise<Json> | Json): Promise<Json>
  /** Started, and not known to have ended; one that runs right now is among them. */
  unfinished(): Promise<CallInfo[]>
  /** What a person found out: `result` where it happened. Throws `not_found`. */
  settle(args: { key: string; happened: boolean; result: Json }): Promise<{ ok: boolean }>
}

export type CallInfo = { key: string; time: string; by: string; state: string; error?: string }
