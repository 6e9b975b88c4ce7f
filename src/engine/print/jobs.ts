import { isJsonObject, type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { fields, type Printers, secondOf, timeOf } from '../../core/readable.ts'
import { counted } from '../../lib/counted.ts'
import { paint } from '../../lib/paint.ts'
import { shorten } from '../../lib/short-text.ts'
import { table } from '../../lib/text-table.ts'

export const printers: Printers = {
  'job-list': humanJobs,
  'job-show': humanJob,
}

/** `job-list`. */
function humanJobs(result: Json): string {
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
function humanJob(result: Json): string {
  return fields(Object(result))
}

/** The result of a command that starts a long job, or of its dry run. */
export function humanStartedJob(result: Json): string {
  const job = pathGet(result, 'job')
  return isJsonObject(job) ? humanBegun(job) : humanCount(Object(result))
}

/** The dry run of a replay. */
function humanCount({ events, redelivered, unread, queued, firstAt, lastAt }: JsonObject): string {
  if (typeof events !== 'number') return 'No job was started.'
  if (events === 0) return 'Nothing is retained of that time: no event would be delivered again.'
  const times = `from ${secondOf(firstAt)} to ${secondOf(lastAt)}`
  const anyway = Number(unread) > 0 && ` ${counted(Number(unread), 'event')} not read yet: delivered anyway.`
  const twice =
    Number(queued) > 0 &&
    ` ${counted(Number(queued), 'event')} waiting for an attempt: those in the range are sent twice.`
  const more = [anyway, twice].filter(Boolean).join('')
  if (redelivered === 0) return `${counted(events, 'event')}, ${times}. None would be delivered again.${more}`
  const again = `${counted(Number(redelivered), 'event')} would be delivered again`
  return `${again}, of ${events} ${times}.${more} Without --dry-run, they are.`
}

function humanBegun(job: JsonObject): string {
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
