import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import { counted } from '../../lib/counted.ts'
import { megabytes, table } from '../terminal.ts'
import { begun } from './jobs.ts'

export function humanExport(result: Json): string {
  const { file, counts, total } = Object(result)
  return [
    countTable(Object(counts)),
    '',
    `${counted(Number(total), 'record')}, ${megabytes(Number(Object(file).size))}: <data dir>/${Object(file).path}`,
  ].join('\n')
}

export function humanErase(result: Json): string {
  const { job, counts, total } = Object(result)
  if (isJsonObject(job)) return begun({ job })
  if (Number(total) === 0) return 'Nothing is kept about this person.'
  return [
    countTable(Object(counts)),
    '',
    `${counted(Number(total), 'record')}. Nothing was erased; --confirm erases them.`,
  ].join('\n')
}

function countTable(counts: JsonObject): string {
  const rows = Object.entries(counts).filter(([, count]) => count !== 0)
  return rows.length === 0 ? 'No records.' : table(['place', 'records'], rows)
}
