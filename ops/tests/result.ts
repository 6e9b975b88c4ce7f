/** How one test file ended; a runner writes it as a line of JSON on `RESULTS`. */
export type FileResult = {
  file: string
  passed: boolean
  tests: number
  skipped: number
  /** From the start of the file to the end of its last test. */
  ms: number
  /** Processor time of the tests and of the processes that they started, in ms. */
  user: number
  system: number
  /** Number of processes that the tests started, without those started by their children. */
  processes: number
  /** Each failure as text: name, place, error. */
  failures: string[]
}

/** The file descriptors between a runner and its parent: results out, names of files in. */
export const RESULTS = 3
export const COMMANDS = 4
