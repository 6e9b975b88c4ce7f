import type { Message } from '../../core/message.ts'
import type { NewJob } from '../../core/store.ts'

/** A pumped job with its message. */
export type Pumped = { job: NewJob; message: Message }

export type PumpedJobs = ReturnType<typeof createPumpedJobs>

/**
 * Recently pumped jobs, in journal order. They are claimed in nearly the same order, so each is
 * found near the start of the list. A map would take longer: V8 has to enter each id into its table
 * of unique texts first. Changes `list`, which the caller must not use afterwards.
 */
export function createPumpedJobs(list: Pumped[] = []) {
  return {
    size: () => list.length,
    /** The ids of the first jobs, at most `max`. */
    ids: (max: number): string[] => list.slice(0, max).map(({ job }) => job.id),
    /** Removes and returns a job. */
    take(id: string): Pumped | undefined {
      if (list[0]?.job.id === id) return list.shift()
      const index = list.findIndex(({ job }) => job.id === id)
      return index < 0 ? undefined : list.splice(index, 1)[0]
    },
    clear(): void {
      list.length = 0
    },
  }
}
