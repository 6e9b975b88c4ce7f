import { z } from 'zod'
import { closed, limit, name, optional, time } from './arguments.ts'

/** A long job and its state. */
export const JOB_STATES = ['running', 'done', 'failed', 'cancelled'] as const

const id = name.describe('The job, as in job-list')

/** Work that takes long and survives a restart: `job-…`. `show` and `cancel` throw `job_not_found`. */
export const longJobs = {
  list: closed({
    kind: optional('Only of this kind: replay, dead-letters, person-erase'),
    state: z.enum(JOB_STATES).exactOptional().describe('Only in this state'),
    limit: limit.default(50).describe('Maximum number of jobs'),
  }).describe(
    'Lists long-running jobs and those that ended within a week, newest first, with their progress.',
  ),
  show: closed({ id }).describe('Shows a long-running job and its progress.'),
  cancel: closed({ id }).describe(
    'Cancels a long-running job after its current step; completed steps are not undone.',
  ),
}

/** A part of a topic. Bounds are optional; all given bounds apply. */
export const eventRange = {
  since: time.exactOptional().describe('Only events since a time, or an age such as 2h'),
  until: time.exactOptional().describe('Only events before a time'),
  from: optional('The first event, by its id; for messages the id of the message'),
  to: optional('The last event, by its id'),
}
