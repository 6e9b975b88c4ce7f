import { isJsonObject, type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import type { Printers } from '../../core/readable.ts'
import { humanStartedJob } from '../../engine/print/jobs.ts'
import { counted } from '../../lib/counted.ts'
import { age, megabytes } from '../../lib/short-text.ts'
import { table } from '../../lib/text-table.ts'

export const printers: Printers = {
  'person-count': humanCounted,
  'person-export': humanExport,
  'person-erase': humanErase,
}

const NOTHING = 'Nothing is kept about this person.'

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
  const many = counted(Number(total), 'record')
  if (done === true)
    return [
      Number(total) === 0 ? NOTHING : `${countTable(Object(counts))}\n\n${many}.`,
      ...oldContentLines(result),
    ].join('\n')
  return `${many} so far, now reading: ${at}. Run it again to see more.`
}

/** `person-erase`: the job, or what it would erase. */
function humanErase(result: Json): string {
  const { job, counts, total } = Object(result)
  if (isJsonObject(job))
    return [
      humanStartedJob({ job }),
      ...laterLines(job),
      ...compactLines(job),
      ...oldContentLines(job.result ?? null),
    ].join('\n')
  if (Number(total) === 0) return [NOTHING, ...oldContentLines(result)].join('\n')
  return [
    countTable(Object(counts)),
    '',
    `${counted(Number(total), 'record')}. Nothing was erased; --confirm erases them.`,
    ...oldContentLines(result),
  ].join('\n')
}

/** Lines about data directories that are erased when their daemons run again. */
function laterLines(job: JsonObject): string[] {
  const later = objectsIn(pathGet(job, 'result.later'))
  return later.map(
    ({ host, lastSeen }) =>
      `The data directory on ${host} is erased when its daemon runs again (last seen ${age(lastSeen)} ago).`,
  )
}

/** That the file of the store was not rewritten. */
function compactLines(job: JsonObject): string[] {
  if (pathGet(job, 'result.needsCompact') !== true) return []
  return [
    'trivium.db was not rewritten, and may still contain old copies of erased rows.',
    'To remove them, stop the daemon and run `trivium compact`.',
  ]
}

/** Lines about the content before a restore, in which nothing is counted or erased. */
function oldContentLines(result: Json): string[] {
  const folders = pathGet(result, 'beforeRestore')
  if (!Array.isArray(folders)) return []
  return [
    '',
    'The content before a restore is neither counted nor erased. If you do not need it, delete it:',
    ...folders.map((folder) => `  rm -r <data dir>/${folder}`),
  ]
}

function countTable(counts: JsonObject): string {
  const rows = Object.entries(counts).filter(([, count]) => count !== 0)
  return rows.length === 0 ? 'No records.' : table(['place', 'records'], rows)
}
