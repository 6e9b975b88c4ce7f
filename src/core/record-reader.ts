import type { ZodError, ZodType } from 'zod'
import { TriviumError } from './errors.ts'
import type { Json } from './json.ts'
import type { Log } from './log.ts'

/** Maximum number of remembered keys whose records were reported. */
const MAX_REPORTED = 1_000

/**
 * Reads stored records of one kind, for lists and loops that must continue if a record cannot be
 * read, because it is damaged or a newer version wrote it. `kind`: the kind in the plural, for
 * people, such as `approvals`.
 */
export function createRecordReader<T>(kind: string, schema: ZodType<T>, log: Pick<Log, 'warn'>) {
  const reported = new Set<string>()
  return {
    /** Undefined if the record is missing or unreadable. Each unreadable record is logged once. */
    read(key: string, value: Json | undefined): T | undefined {
      if (value === undefined) return undefined
      const { data, error } = schema.safeParse(value)
      if (error && !reported.has(key)) {
        if (reported.size >= MAX_REPORTED) reported.clear()
        reported.add(key)
        const text = `an unreadable record was skipped and left unchanged: ${kind}`
        log.warn({ key, reason: faultsOf(error) }, text)
      }
      return data
    },
    /** Reads a record that a caller needs. Throws `state_corrupt`. */
    require(key: string, value: Json): T {
      const { data, error } = schema.safeParse(value)
      if (!error) return data
      const values = { path: key, reason: faultsOf(error), todo: 'update this daemon' }
      throw new TriviumError('state_corrupt', values, { cause: error })
    },
  }
}

function faultsOf({ issues }: ZodError): string {
  return issues.map(({ path, message }) => [path.join('.'), message].filter(Boolean).join(': ')).join('; ')
}
