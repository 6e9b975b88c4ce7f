import { z } from 'zod'
import { closed, limit, name, optional, time } from './arguments.ts'

/** What a long job is doing, or did. */
export const JOB_STATES = ['running', 'done', 'failed', 'cancelled'] as const

const id = name.describe('The job, as job-list gives it')

/** Work that takes long and survives a restart: `job-…`. `show` and `cancel` throw `job_not_found`. */
export const longJobs = {
  list: closed({
    kind: optional('Only of this kind: replay, person-erase'),
    state: z.enum(JOB_STATES).exactOptional().describe('Only in this state'),
    limit: limit.default(50).describe('The most jobs to list'),
  }).describe('Lists long jobs, newest first: what runs, how far it is, and what ended within a week.'),
  show: closed({ id }).describe('Shows a long job and how far it is.'),
  cancel: closed({ id }).describe('Ends a long job after its current step; what it did stays done.'),
}

/** A part of a topic: each bound may be left out, and all given ones hold. */
export const eventRange = {
  since: time.exactOptional().describe('Only events since a time, or from so long ago on: 2h'),
  until: time.exactOptional().describe('Only events before a time'),
  from: optional('The first event, by its id; for messages the id of the message'),
  to: optional('The last event, by its id'),
}
