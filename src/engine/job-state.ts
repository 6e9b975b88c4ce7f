import { TriviumError } from '../core/errors.ts'
import { textAt } from '../core/json.ts'
import type { JobFilter, LongJob } from '../core/long-job.ts'
import { openFailures } from '../lib/open-failures.ts'
import { isInProgress } from '../lib/outcomes.ts'

/** Whether something that an ended job queued is still in progress. */
export function isDelivering({ state, outcomes }: LongJob): boolean {
  return state !== 'running' && isInProgress(outcomes)
}

/** Jobs in progress before the others, otherwise in the same order. */
export function busyFirst<Job extends LongJob>(jobs: readonly Job[]): Job[] {
  const isBusy = (job: LongJob) => job.state === 'running' || job.withdrawing === true || isDelivering(job)
  return [...jobs.filter(isBusy), ...jobs.filter((job) => !isBusy(job))]
}

/** Whether a job is found by a state. */
export function isInState(job: LongJob, wanted: JobFilter): boolean {
  const isBusy = job.state === 'done' && isDelivering(job)
  if (wanted === 'delivering') return isBusy && job.kind === 'replay'
  if (wanted === 'retrying') return isBusy && job.kind !== 'replay'
  if (wanted === 'cancelling') return job.withdrawing === true
  const hasFailures = job.state === 'failed' || openFailures(job) > 0
  if (wanted === 'with-failures' || wanted === 'failed') return hasFailures
  if (wanted === 'done' && hasFailures) return false
  return (isBusy ? 'running' : job.state) === wanted
}

/** The error about a job that cannot be cancelled, with the command that stops what it queued. */
export function jobEnded(job: LongJob): TriviumError {
  const { id, state } = job
  return new TriviumError('job_ended', { id, state, hint: isDelivering(job) ? ` ${howToStop(job)}` : '' })
}

function howToStop({ id, kind, target, outcomes = {}, waitsFor = [] }: LongJob): string {
  const push = textAt(target, 'subscription')
  if (push !== undefined) {
    const many = `Of its events, ${outcomes.waiting} still wait to be pushed to ${push}.`
    if (waitsFor.some(({ kind }) => kind === 'subscription'))
      return `${many} The push is paused: \`trivium subscription resume ${push}\` sends them.`
    return `${many} \`trivium subscription pause ${push}\` holds them back.`
  }
  if (kind !== 'dead-letters') return `\`trivium job show ${id}\` shows what is in progress.`
  return `Only replies to its messages are still being sent: \`trivium job show ${id}\` lists them.`
}
