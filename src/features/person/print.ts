import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import type { Printers } from '../../core/readable.ts'
import { afterErasure, oldContentLines } from '../../engine/print/job-words.ts'
import { humanStartedJob } from '../../engine/print/jobs.ts'
import { counted } from '../../lib/counted.ts'
import { NOT_COUNTED, NOTHING_FOUND } from '../../lib/nothing-found.ts'
import { megabytes } from '../../lib/short-text.ts'
import { table } from '../../lib/text-table.ts'

export const printers: Printers = {
  'person-count': humanCounted,
  'person-export': humanExport,
  'person-erase': (result) => humanErase(result, NOTHING),
  'message-erase': (result) => humanErase(result, 'Nothing was found about these messages.'),
}

const NOTHING = `${NOTHING_FOUND} ${NOT_COUNTED}`

/** `person-export`. */
function humanExport(result: Json): string {
  const { file, counts, total } = Object(result)
  return [
    countTable(Object(counts)),
    '',
    `${counted(Number(total), 'record')}, ${megabytes(Number(Object(file).size))}: <data dir>/${Object(file).path}`,
    ...oldContentLines(result),
  ].join('\n')
}

/** `person-count`: all, or what is counted so far. */
function humanCounted(result: Json): string {
  const { done, at, counts, total } = Object(result)
  const records = counted(Number(total), 'record')
  if (done === true)
    return [
      Number(total) === 0 ? NOTHING : `${countTable(Object(counts))}\n\n${records}.`,
      ...oldContentLines(result),
    ].join('\n')
  return `${records} so far, now reading: ${at}. Run it again to see more.`
}

/** `person-erase` and `message-erase`: the job, or what it would erase. */
function humanErase(result: Json, nothing: string): string {
  const { job, counts, total } = Object(result)
  if (isJsonObject(job)) return [humanStartedJob({ job }), ...afterErasure(job.result ?? null)].join('\n')
  if (Number(total) === 0) return [nothing, ...oldContentLines(result)].join('\n')
  return [
    countTable(Object(counts)),
    '',
    `${counted(Number(total), 'record')}. Nothing was erased; --confirm erases them.`,
    ...oldContentLines(result),
  ].join('\n')
}

function countTable(counts: JsonObject): string {
  const rows = Object.entries(counts).filter(([, count]) => count !== 0)
  return rows.length === 0 ? 'No records.' : table(['place', 'records'], rows)
}
