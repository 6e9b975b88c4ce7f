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

/** Who is told what comes of something later: the little of their message that a reply needs. */
export const askedBySchema = messageSchema
  .pick({ id: true, gateway: true, transport: true, conversation: true, data: true, trace: true })
  .strict()
export type AskedBy = z.infer<typeof askedBySchema>

/** Undefined: nobody can be told but by the answer itself. */
export function askedBy({ message }: { message?: Message }): AskedBy | undefined {
  if (!message) return undefined
  const { id, gateway, transport, conversation, trace } = message
  const { replyTarget, respond } = message.data
  return { id, gateway, transport, conversation, trace, data: defined({ replyTarget, respond }) }
}

/**
 * A note, `memory-1` and so on. `channel`: where it was given (`channelOf`). `owner`: the identity of whom it belongs to;
 * `gateway/conversation`, where there is no proof who that is; else (an operator's, or one of before version 2) the channel.
 */
export const noteSchema = z.strictObject({
  id: z.string(),
  text: z.string(),
  channel: z.string(),
  owner: z.string(),
  time,
})
export type Note = z.infer<typeof noteSchema>

/** One search that was made, kept under `searches`. `ref` names the note, or when and who of the transcript. */
export const searchSchema = z.strictObject({
  id: z.string(),
  query: z.string(),
  channel: z.string(),
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

/** Work given to a worker. `digest`: a summary that the worker writes. */
export const delegationSchema = z.strictObject({
  id: z.string(),
  kind: z.enum(['task', 'digest']),
  worker: named,
  task: z.string(),
  channel: z.string(),
  /** Whose it is, as of a note. Absent (of before): its channel's. */
  owner: z.string().exactOptional(),
  status: z.enum(['queued', 'working', 'done', 'failed']),
  time,
  takenBy: z.string().exactOptional(),
  finished: time.exactOptional(),
  result: z.json().exactOptional(),
  /** Who is told the result. */
  askedBy: askedBySchema.exactOptional(),
})
export type Delegation = z.infer<typeof delegationSchema>

/** `2 weeks`: only each second week counts, from that of the first time on. */
export const stepSchema = z
  .string()
  .regex(/^([2-9]|[1-9]\d{1,2}) (days|weeks|months)$/, 'expected "2 weeks", "3 days" or "6 months"')

/**
 * A stored schedule: cron (5 to 7 fields, several with ` | `, or one moment in ISO 8601) in `timezone`, or `every` so many ms from `created`.
 * `step`: of the days, weeks or months of the cron only each so many count.
 */
export const scheduleSchema = z.strictObject({
  id: z.string(),
  name: named,
  cron: z.string().exactOptional(),
  every: z.int().min(1000).exactOptional(),
  step: stepSchema.exactOptional(),
  timezone: z.string(),
  /** `skip`: what was missed is gone. `once`: the newest missed time fires. `within` (ms): only while it is that young. */
  misfire: z.union([z.enum(['skip', 'once']), z.strictObject({ within: z.int().min(0) })]),
  skill: named,
  args: z.record(z.string(), z.json()),
  channel: z.string(),
  created: time,
  /** Who made it by a message, and the roles of then: the skill runs with the rights that they have when it does. Absent: an operator. */
  by: z.strictObject({ id: z.string(), roles: z.array(z.string()) }).exactOptional(),
  /** A run that is due while the last one works: waits for it, is left out, or runs beside it. Absent: `queue`. */
  overlap: z.enum(['queue', 'skip', 'allow']).exactOptional(),
  /** Absent: made by an operation. */
  source: z.literal('routes.yaml').exactOptional(),
  /** Who gets what the skill returns. */
  askedBy: askedBySchema.exactOptional(),
  /** Who hears once when a run becomes a dead letter, where nobody gets results. */
  onFailure: askedBySchema.exactOptional(),
})
export type Schedule = z.infer<typeof scheduleSchema>

const lines = z.array(z.string())

/** What the next session at the workbench needs to go on; see docs/state.md. */
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

/** A task of the board: something to make, with how to see that it is made, or something to look at. */
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

/** Where something was asked for: the gateway of the message that it began with, else `cli`, `http`, `mcp`, `code`. */
export function channelOf({ message, caller }: Call): string {
  return message?.gateway ?? caller.kind
}

/** `ada: …`, `to chat:ada: …`, `to ada@example.com: …`. */
const WORKER_FIRST = /^\s*(?:to\s+)?((?:[\w-][\w.-]*:)?[\w.@+-]+)\s*:\s*(\S.*)$/s

/** Who does delegated work, and what it is. */
export function workerOf(text: unknown, given: unknown): { worker: string; task: string } {
  const task = typeof text === 'string' ? text : ''
  if (typeof given === 'string') return { worker: given, task }
  const [, worker = 'worker', rest = task] = WORKER_FIRST.exec(task) ?? []
  return { worker, task: rest }
}
