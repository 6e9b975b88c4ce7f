import { type Json, objectsIn, pathGet } from '../../core/json.ts'
import { paint, shorten, table } from '../terminal.ts'
import { fields, timeOf } from './readable.ts'

/** `job-list`. */
export function humanJobs(result: Json): string {
  const rows = objectsIn(result).map((job) => [
    job.id,
    stateOf(job),
    [`${job.done}/${job.total}`, job.at].filter(Boolean).join(' '),
    timeOf(job.startedAt),
    job.by,
    shorten(Object.values(Object(job.target)).join(' '), 60),
  ])
  if (rows.length === 0) return 'There are no long jobs.'
  return table(['id', 'state', 'progress', 'started', 'by', 'what'], rows)
}

/** `job-show`. */
export function humanJob(result: Json): string {
  return fields(Object(result))
}

/** The result of a command that starts a long job. */
export function humanStartedJob(result: Json): string {
  const job = Object(pathGet(result, 'job'))
  const { id, state, done, total } = job
  const progress = `${done} of ${total}`
  if (state !== 'running') return `Job ${id}: ${stateOf(job)}, ${progress}.`
  return `Job ${id} runs: ${progress}. \`trivium job show ${id}\` shows it, \`trivium job cancel ${id}\` ends it.`
}

function stateOf({ state, error }: { state?: Json; error?: Json }): string {
  const reason = pathGet(error, 'message')
  const shown = state === 'failed' ? paint('red', 'failed') : String(state)
  return reason === undefined ? shown : `${shown}: ${reason}`
}
