import { writeSync } from 'node:fs'
import { type FileResult, RESULTS } from './result.ts'
import { type Usage, usageSoFar } from './usage.ts'

export type Counts = Pick<FileResult, 'tests' | 'skipped' | 'failures'>
type Current = { file: string; isAlone: boolean; began: number; usage: Usage; counted(counts: Counts): void }

let current: Current | undefined

/**
 * Marks the start of the tests of a file. Resolves with the counts of the reporter once they have
 * ended. With `isAlone`, all tests of this process belong to that file: the result is sent as soon
 * as they end, because the process ends as well.
 */
export function begin(file: string, isAlone: boolean): Promise<Counts> {
  const { promise, resolve } = Promise.withResolvers<Counts>()
  // The start of the process belongs to the file that is the first to run in it.
  const usage = current ? usageSoFar() : { user: 0, system: 0, processes: 0 }
  current = { file, isAlone, began: performance.now(), usage, counted: isAlone ? sendResult : resolve }
  return promise
}

/**
 * Called by the reporter at the end of each top-level suite, and without a name at the end of the
 * process. Returns whether this was the end of the current file.
 */
export function endSuite(suite: string | undefined, counts: Counts): boolean {
  if (!current || (current.isAlone ? suite !== undefined : suite !== current.file)) return false
  current.counted(counts)
  return true
}

/** Sends the result of the current file to the parent process. */
export function sendResult(counts: Counts): void {
  if (!current) return
  const { file, began, usage } = current
  const now = usageSoFar()
  const result: FileResult = {
    file,
    ...counts,
    passed: counts.failures.length === 0,
    ms: performance.now() - began,
    user: now.user - usage.user,
    system: now.system - usage.system,
    processes: now.processes - usage.processes,
  }
  let rest = Buffer.from(`${JSON.stringify(result)}\n`)
  while (rest.length > 0) rest = rest.subarray(writeSync(RESULTS, rest))
}
