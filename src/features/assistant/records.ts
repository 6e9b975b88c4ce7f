import { z } from 'zod'
import { askedBySchema } from '../../core/asked-by.ts'
import { isoTime } from '../../core/iso-time.ts'

/** A note (`memory-1`, …). */
export const noteSchema = z.strictObject({
  id: z.string(),
  text: z.string(),
  /** Where it was written, see `channelOf`. */
  channel: z.string(),
  /**
   * The author, see `viewerOf`: their identity; `gateway/conversation` if they are not verified;
   * `operator/http` for a call of an operator; the channel for a message of an operator, and for a
   * note from before version 2 of the document.
   */
  owner: z.string(),
  time: isoTime,
})
export type Note = z.infer<typeof noteSchema>

/** A past search, kept under `searches`. */
export const searchSchema = z.strictObject({
  id: z.string(),
  query: z.string(),
  channel: z.string(),
  /** The owner, as of a note. Absent in entries of older versions. */
  owner: z.string().exactOptional(),
  time: isoTime,
  results: z.array(
    z.strictObject({
      source: z.enum(['note', 'message']),
      /** The id of a note, or the time and role of a transcript line. */
      ref: z.string(),
      text: z.string(),
      channel: z.string(),
      /** Higher is better, comparable within one search. */
      score: z.number(),
    }),
  ),
})
export type Search = z.infer<typeof searchSchema>

/** Delegated work. Kind `digest`: a summary that the worker writes. */
export const delegationSchema = z.strictObject({
  id: z.string(),
  kind: z.enum(['task', 'digest']),
  worker: z.string().min(1),
  task: z.string(),
  channel: z.string(),
  /** As for a note. Absent in older entries, which belong to their channel. */
  owner: z.string().exactOptional(),
  status: z.enum(['queued', 'working', 'done', 'failed']),
  time: isoTime,
  takenBy: z.string().exactOptional(),
  finished: isoTime.exactOptional(),
  result: z.json().exactOptional(),
  /** Who gets the result. */
  askedBy: askedBySchema.exactOptional(),
})
export type Delegation = z.infer<typeof delegationSchema>
