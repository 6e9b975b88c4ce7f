import { z } from 'zod'
import { closed, limit, name, optional, time } from '../../core/arguments.ts'
import { JOB_FILTERS, JOB_KINDS } from '../../core/long-job.ts'
import { spoken } from '../../core/spoken.ts'

const id = spoken(name.describe('The job, as in job-list'), { id: 'job' })

/**
 * Work that takes long and survives a restart: `job-…`. All but `list` throw `job_not_found`, and
 * `cancel` throws `job_ended`.
 */
export const longJobs = {
  list: closed({
    kind: z.enum(JOB_KINDS).exactOptional().describe('Only of this kind'),
    state: z
      .enum(JOB_FILTERS)
      .exactOptional()
      .describe(
        'Only in this state. `running` includes `delivering` and `retrying` ones: what they queued is in progress. `failed` and `with-failures`: the job failed, or something that it queued',
      ),
    since: time.exactOptional().describe('Only those that ran since a time, or an age such as 2h'),
    until: time.exactOptional().describe('Only those that began before a time, or an age such as 2h'),
    limit: limit.default(50).describe('Maximum number of jobs'),
  }).describe(
    'Lists the jobs that run or ended within a week, with their progress and outcomes: those in progress, then the others, newest first.',
  ),
  show: closed({ id }).describe(
    'Shows a job: its progress and result, the outcomes of its messages or events by cause, and what they wait for.',
  ),
  items: closed({
    id,
    outcome: optional(
      'Only items with this outcome: delivered, read, waiting (in progress), dead, withdrawn, dropped, done …',
    ),
    after: optional('`next` of the previous page'),
    limit: spoken(limit.default(50).describe('Maximum number of items'), { screenDefault: 20 }),
  }).describe(
    'Lists all events of a replay, or the first 1,000 messages of a retry, with their present outcome. A page with `next` may be empty.',
  ),
  cancel: closed({ id }).describe(
    'Cancels a job after its current step; completed steps are not undone. A replay withdraws its waiting events, even after it has queued all of them. Messages of a retry become dead letters again, unless their present attempts succeed.',
  ),
}
