import { TriviumError } from '../core/errors.ts'
import { textAt } from '../core/json.ts'
import type { LongJob } from '../core/long-job.ts'
import { isInProgress } from '../lib/outcomes.ts'

/** Whether something that an ended job queued is still in progress. */
export function isDelivering({ state, outcomes }: LongJob): boolean {
  return state !== 'running' && isInProgress(outcomes)
}

/** The state by which a job is found: a done one runs until what it queued is delivered. */
export function stateNow(job: LongJob): LongJob['state'] {
  return job.state === 'done' && isDelivering(job) ? 'running' : job.state
}

/** The error about a job that cannot be cancelled, with the command that stops what it queued. */
export function jobEnded(job: LongJob): TriviumError {
  const { id, state } = job
  return new TriviumError('job_ended', { id, state, hint: isDelivering(job) ? ` ${howToStop(job)}` : '' })
}

function howToStop({ id, target, outcomes = {}, waitsFor = [] }: LongJob): string {
  const push = textAt(target, 'subscription')
  if (push !== undefined) {
    const many = `Of its events, ${outcomes.waiting} still wait to be pushed to ${push}.`
    if (waitsFor.some(({ kind }) => kind === 'subscription'))
      return `${many} The push is paused: \`trivium subscription resume ${push}\` sends them.`
    return `${many} \`trivium subscription pause ${push}\` holds them back.`
  }
  const [route, queue = 'dispatch'] = [textAt(target, 'group'), textAt(target, 'queue')]
  const hold =
    route !== undefined && queue === 'dispatch'
      ? `\`trivium route pause ${route}\` holds those that wait`
      : `\`trivium job show ${id}\` lists them`
  return `Of its messages, some are still in progress: ${hold}, and \`trivium run cancel ID\` ends the attempts on one.`
}
