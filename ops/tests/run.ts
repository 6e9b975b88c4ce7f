import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { relative } from 'node:path'
import type { Failed } from './failed.ts'
import { openLane } from './open-lane.ts'
import { inOrder } from './order.ts'
import type { FileResult } from './result.ts'
import { secondTry } from './second-try.ts'

type TestRun = {
  files: string[]
  namePatterns: string[]
  timeout: number
  deadline: number
  /** Each file has its own process and prints the output of its tests immediately, for long tests with progress and figures. */
  isTalkative: boolean
  /** Prints the processor time of each file at the end. */
  isReporting: boolean
  /** How many files run at once. */
  jobs: number | undefined
  /** Gives the few files that fail a second try, alone. */
  isPatient: boolean
}

const MINUTE = 60_000
const SLOWEST = 8
/** Most files wait for servers, timers and processes half of the time. */
const JOBS_PER_CORE = 2
/** The first comment of a file that needs its own process, with the reason. */
const ALONE = /^\/\/ Own process: /m

/**
 * Runs test files in a few parallel processes, which run one file after another; files that ask for it get
 * their own process. Prints one line per file, the complete failures, and the slowest files. `timeout` (ms)
 * applies to each test, `deadline` to all. Resolves with the failures, and with those of tests that passed when
 * they were tried again.
 */
export async function runTests(options: TestRun): Promise<{ failed: Failed[]; flaky: Failed[] }> {
  const { files, deadline, isPatient, isReporting, jobs = availableParallelism() * JOBS_PER_CORE } = options
  const stop = new AbortController()
  const timer = setTimeout(
    () => stop.abort(new Error(`not done after ${deadline / MINUTE} minutes`)),
    deadline,
  )
  process.once('SIGINT', () => stop.abort())
  process.once('SIGTERM', () => stop.abort())

  const began = performance.now()
  const queue = inOrder(files)
  const results: FileResult[] = []
  const failed: Failed[] = []
  const lanes = Array.from({ length: Math.min(jobs, files.length) }, () =>
    work(queue, options, stop.signal, results, failed),
  )
  await Promise.all(lanes)
  const isComplete = !stop.signal.aborted && results.length === files.length
  const ended =
    isPatient && isComplete
      ? await secondTry(failed, (file) => tryAlone(file, options, stop.signal))
      : { failed, flaky: [] }
  clearTimeout(timer)
  if (results.length > 3) printSlowest(results)
  if (isReporting) printReport(results)
  printTotals(results, performance.now() - began)
  if (!isComplete || stop.signal.aborted) ended.failed.push(cutOff(files, results, stop.signal))
  return ended
}

/** Runs one file while no other runs. Resolves with how it failed, if it did. */
async function tryAlone(file: string, options: TestRun, signal: AbortSignal): Promise<Failed | undefined> {
  const failed: Failed[] = []
  await work([file], options, signal, [], failed)
  return failed[0]
}

/** Takes files from the queue until it is empty. */
async function work(
  queue: string[],
  options: TestRun,
  signal: AbortSignal,
  results: FileResult[],
  failed: Failed[],
) {
  const { isTalkative, namePatterns, timeout } = options
  const lane = openLane({ namePatterns, timeout, signal, isTalkative })
  for (let file = queue.shift(); file !== undefined && !signal.aborted; file = queue.shift()) {
    // A name pattern only applies to tests that are already defined, so each file must be loaded before the
    // tests are selected.
    const isAlone = isTalkative || namePatterns.length > 0 || ALONE.test(readFileSync(file, 'utf8'))
    const { result, output } = await lane.run(file, isAlone)
    results.push(result)
    const skipped = result.skipped > 0 ? ` (${result.skipped} skipped)` : ''
    console.log(
      `${result.passed ? '✔' : '✖'} ${name(file)}  ${result.tests} tests${skipped}, ${seconds(result.ms)}`,
    )
    if (result.passed) continue
    failed.push({ name: name(file), failures: result.failures, output: isTalkative ? '' : output })
    if (!isTalkative) console.log(output)
    console.log(`${result.failures.join('\n\n')}\n`)
  }
  await lane.close()
}

/** Explains why a run ended early, and which files have no result. */
function cutOff(files: string[], results: FileResult[], { reason }: AbortSignal): Failed {
  const ended = new Set(results.map(({ file }) => file))
  const left = files.filter((file) => !ended.has(file)).map(name)
  const why = reason instanceof Error ? reason.message : 'some files have no result'
  return {
    name: 'the run',
    failures: [`✖ ${why}; without a result: ${left.join(', ') || 'none'}`],
    output: '',
  }
}

function printSlowest(results: FileResult[]): void {
  const slowest = results.toSorted((a, b) => b.ms - a.ms).slice(0, SLOWEST)
  console.log(`Slowest: ${slowest.map(({ file, ms }) => `${name(file)} ${seconds(ms)}`).join(', ')}`)
}

/** Most expensive files first. */
function printReport(results: FileResult[]): void {
  console.log('processor  of it system     waiting  processes  tests  file')
  for (const one of results.toSorted((a, b) => spent(b) - spent(a))) {
    const columns = [
      seconds(spent(one)).padStart(9),
      seconds(one.system).padStart(13),
      seconds(Math.max(0, one.ms - spent(one))).padStart(11),
      String(one.processes).padStart(10),
      String(one.tests).padStart(6),
    ]
    console.log(`${columns.join(' ')}  ${name(one.file)}`)
  }
}

function printTotals(results: FileResult[], took: number): void {
  const sum = (of: (result: FileResult) => number) => results.reduce((total, one) => total + of(one), 0)
  console.log(
    `${sum(({ tests }) => tests)} tests in ${results.length} files, ${sum(({ skipped }) => skipped)} skipped; ` +
      `${seconds(took)}, processor time ${seconds(sum(({ user }) => user))} + ${seconds(sum(({ system }) => system))}`,
  )
}

function spent({ user, system }: FileResult): number {
  return user + system
}

function name(file: string): string {
  return relative(process.cwd(), file)
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
