import { z } from 'zod'
import { defined } from '../lib/defined.ts'
import type { Call } from './call.ts'
import { type Message, messageSchema } from './message.ts'

const dateTime = z.iso.datetime({ offset: true })
const time = z
  .string()
  .refine((text) => dateTime.safeParse(text).success, 'expected a time as in ISO 8601')
  .meta({ format: 'date-time' })
const named = z.string().min(1)

/** Recipient of a later result: the fields of their message that a reply needs. */
export const askedBySchema = messageSchema
  .pick({ id: true, gateway: true, transport: true, conversation: true, data: true, trace: true })
  .strict()
export type AskedBy = z.infer<typeof askedBySchema>

/** Undefined if the result can only be returned directly. */
export function askedBy({ message }: { message?: Message }): AskedBy | undefined {
  if (!message) return undefined
  const { id, gateway, transport, conversation, trace } = message
  const { replyTarget, respond } = message.data
  return { id, gateway, transport, conversation, trace, data: defined({ replyTarget, respond }) }
}

/**
 * A note (`memory-1`, …). `channel`: where it was written (`channelOf`). `owner`: the author's identity;
 * `gateway/conversation` if the author is not verified; `operator/http` for an operator's call (`viewerOf`); the channel in
 * messages of operators, and in versions before 2.
 */
export const noteSchema = z.strictObject({
  id: z.string(),
  text: z.string(),
  channel: z.string(),
  owner: z.string(),
  time,
})
export type Note = z.infer<typeof noteSchema>

/** A past search, kept under `searches`. `ref` is the note's id, or time and author of a transcript line. */
export const searchSchema = z.strictObject({
  id: z.string(),
  query: z.string(),
  channel: z.string(),
  /** The owner, as of a note. Absent in entries of older versions. */
  owner: z.string().exactOptional(),
  time,
  results: z.array(
    z.strictObject({
      source: z.enum(['note', 'message']),
      ref: z.string(),
      text: z.string(),
      channel: z.string(),
      /** Higher is better, comparable within one search. */
      score: z.number(),
    }),
  ),
})
export type Search = z.infer<typeof searchSchema>

/** Delegated work. `digest`: a summary that the worker writes. */
export const delegationSchema = z.strictObject({
  id: z.string(),
  kind: z.enum(['task', 'digest']),
  worker: named,
  task: z.string(),
  channel: z.string(),
  /** As for a note. Absent in older entries, which belong to their channel. */
  owner: z.string().exactOptional(),
  status: z.enum(['queued', 'working', 'done', 'failed']),
  time,
  takenBy: z.string().exactOptional(),
  finished: time.exactOptional(),
  result: z.json().exactOptional(),
  /** Who gets the result. */
  askedBy: askedBySchema.exactOptional(),
})
export type Delegation = z.infer<typeof delegationSchema>

/** `2 weeks`: every second week, counted from the week of the first run. */
export const stepSchema = z
  .string()
  .regex(/^([2-9]|[1-9]\d{1,2}) (days|weeks|months)$/, 'expected "2 weeks", "3 days" or "6 months"')

/**
 * A stored schedule: `cron` (5 to 7 fields, several joined by ` | `, or one ISO 8601 time) in `timezone`, or `every` n ms since `created`.
 * `step`: only every nth day, week or month of the cron expression counts.
 */
export const scheduleSchema = z.strictObject({
  id: z.string(),
  name: named,
  cron: z.string().exactOptional(),
  every: z.int().min(1000).exactOptional(),
  step: stepSchema.exactOptional(),
  timezone: z.string(),
  /** Missed runs. `skip`: dropped. `once`: the newest one runs. `within` (ms): the newest one runs unless it is older. */
  misfire: z.union([z.enum(['skip', 'once']), z.strictObject({ within: z.int().min(0) })]),
  skill: named,
  args: z.record(z.string(), z.json()),
  channel: z.string(),
  created: time,
  /** Creator, and their roles at creation. The skill runs with the rights they have at run time. Absent: an operator. */
  by: z.strictObject({ id: z.string(), roles: z.array(z.string()) }).exactOptional(),
  /** How to handle a run that is due while the last one is still running: wait, skip, or run both. Default: `queue`. */
  overlap: z.enum(['queue', 'skip', 'allow']).exactOptional(),
  /** Absent if an operation created it. */
  source: z.literal('routes.yaml').exactOptional(),
  /** Who gets what the skill returns. */
  askedBy: askedBySchema.exactOptional(),
  /** Notified once when a run becomes a dead letter, if nobody gets its results. */
  onFailure: askedBySchema.exactOptional(),
})
export type Schedule = z.infer<typeof scheduleSchema>

const lines = z.array(z.string())

/** What the next workbench session needs to continue; see docs/state.md. */
export const workbenchStateSchema = z.strictObject({
  active_task_id: z.string().nullable(),
  touched_files: lines.meta({ uniqueItems: true }),
  assumptions: lines,
  risks: lines,
  next_action: z.string(),
})

const taskFields = {
  id: named,
  title: named,
  status: z.enum(['open', 'claimed', 'done']),
  owner: named.exactOptional(),
  result: z.string().exactOptional(),
}

/** A task on the board: something to build, with its acceptance criteria, or something to review. */
export const taskSchema = z.discriminatedUnion('kind', [
  z.strictObject({ ...taskFields, kind: z.literal('build'), acceptance: lines.min(1) }),
  z.strictObject({
    ...taskFields,
    kind: z.literal('review'),
    target: named,
    reviewer: named.exactOptional(),
  }),
])
export type WorkbenchTask = z.infer<typeof taskSchema>

/** Origin of a call: the gateway of the message that started it, else `cli`, `http`, `mcp` or `code`. */
export function channelOf({ message, caller }: Call): string {
  return message?.gateway ?? caller.kind
}

/** `ada: …`, `to chat:ada: …`, `to ada@example.com: …`. */
const WORKER_FIRST = /^\s*(?:to\s+)?((?:[\w-][\w.-]*:)?[\w.@+-]+)\s*:\s*(\S.*)$/s

/** The worker and the task in a delegation. */
export function workerOf(text: unknown, given: unknown): { worker: string; task: string } {
  const task = typeof text === 'string' ? text : ''
  if (typeof given === 'string') return { worker: given, task }
  const [, worker = 'worker', rest = task] = WORKER_FIRST.exec(task) ?? []
  return { worker, task: rest }
}
