import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { Failed } from './failed.ts'
import { openRunner } from './open-runner.ts'
import { inOrder } from './order.ts'
import { type Pace, paceOf } from './pace.ts'
import type { FileResult } from './result.ts'
import { secondTry } from './second-try.ts'

type TestRun = {
  files: string[]
  namePatterns: string[]
  /** Time limit of each test (ms). */
  timeout: number
  /** Time limit of the run (ms). */
  deadline: number
  /**
   * Each file has its own process and prints the output of its tests immediately, for long tests
   * with progress and figures.
   */
  isVerbose: boolean
  /** Prints the processor time of each file at the end. */
  printsUsage: boolean
  /** Number of files that run in parallel; by default as many as keep the cores busy. */
  jobs: number | undefined
  /** Runs files that failed once more, alone, if they are few. */
  retriesFailures: boolean
}

const MINUTE = 60_000
/** Number of files in the list of the slowest. */
const SLOWEST = 8
/** The first comment of a file that needs its own process, with the reason. */
const ALONE = /^\/\/ Own process: /m

/**
 * Runs test files in a few parallel processes, which run one file after another; files that ask for
 * it get their own process. Prints one line per file, the complete failures, and the slowest files.
 * Resolves with the failures. `flaky` are first failures of files that passed when they ran again.
 */
export async function runTests(options: TestRun): Promise<{ failed: Failed[]; flaky: Failed[] }> {
  const { files, deadline, retriesFailures, jobs } = options
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
  const pace = paceOf(jobs)
  const runners = Array.from({ length: Math.min(pace.most, files.length) }, () =>
    work({ queue, options, signal: stop.signal, pace, results, failed }),
  )
  await Promise.all(runners)
  const isComplete = !stop.signal.aborted && results.length === files.length
  const outcome =
    retriesFailures && isComplete
      ? await secondTry(failed, (file) => tryAlone(file, options, stop.signal))
      : { failed, flaky: [] }
  clearTimeout(timer)
  if (results.length > 3) printSlowest(results)
  if (options.printsUsage) printUsage(results)
  printTotals(results, performance.now() - began)
  if (!isComplete || stop.signal.aborted) outcome.failed.push(incompleteRun(files, results, stop.signal))
  return outcome
}

/** Runs one file while no other runs. Resolves with its failure, if any. */
async function tryAlone(file: string, options: TestRun, signal: AbortSignal): Promise<Failed | undefined> {
  const failed: Failed[] = []
  await work({ queue: [file], options, signal, pace: paceOf(1), results: [], failed })
  return failed[0]
}

type Work = {
  queue: string[]
  options: TestRun
  signal: AbortSignal
  pace: Pace
  results: FileResult[]
  failed: Failed[]
}

/** Takes files from the queue until it is empty. */
async function work({ queue, options, signal, pace, results, failed }: Work): Promise<void> {
  const { isVerbose, namePatterns, timeout } = options
  const runner = openRunner({ namePatterns, timeout, signal, isVerbose })
  for (;;) {
    await pace.begin()
    const file = signal.aborted ? undefined : queue.shift()
    if (file === undefined) break
    // A name pattern only applies to tests that are already defined, so each file must be loaded
    // before the tests are selected.
    const isAlone = isVerbose || namePatterns.length > 0 || ALONE.test(readFileSync(file, 'utf8'))
    const { result, output } = await runner.run(file, isAlone)
    pace.end()
    results.push(result)
    printResult(result)
    if (result.passed) continue
    failed.push({ name: name(file), failures: result.failures, output: isVerbose ? '' : output })
    if (!isVerbose) console.log(output)
    console.log(`${result.failures.join('\n\n')}\n`)
  }
  pace.finish()
  await runner.close()
}

function printResult({ file, passed, tests, skipped, ms }: FileResult): void {
  const aside = skipped > 0 ? ` (${skipped} skipped)` : ''
  console.log(`${passed ? '✔' : '✖'} ${name(file)}  ${tests} tests${aside}, ${seconds(ms)}`)
}

/** A failure with the reason why the run ended early, and the files without a result. */
function incompleteRun(files: string[], results: FileResult[], { reason }: AbortSignal): Failed {
  const withResult = new Set(results.map(({ file }) => file))
  const missing = files.filter((file) => !withResult.has(file)).map(name)
  const why = reason instanceof Error ? reason.message : 'some files have no result'
  return {
    name: 'the run',
    failures: [`✖ ${why}; without a result: ${missing.join(', ') || 'none'}`],
    output: '',
  }
}

function printSlowest(results: FileResult[]): void {
  const slowest = results.toSorted((a, b) => b.ms - a.ms).slice(0, SLOWEST)
  console.log(`Slowest: ${slowest.map(({ file, ms }) => `${name(file)} ${seconds(ms)}`).join(', ')}`)
}

/** Prints the files by processor time, the highest first. */
function printUsage(results: FileResult[]): void {
  console.log('processor  of it system     waiting  processes  tests  file')
  for (const result of results.toSorted((a, b) => processorMs(b) - processorMs(a))) {
    const columns = [
      seconds(processorMs(result)).padStart(9),
      seconds(result.system).padStart(13),
      seconds(Math.max(0, result.ms - processorMs(result))).padStart(11),
      String(result.processes).padStart(10),
      String(result.tests).padStart(6),
    ]
    console.log(`${columns.join(' ')}  ${name(result.file)}`)
  }
}

function printTotals(results: FileResult[], took: number): void {
  const sum = (figure: (result: FileResult) => number) =>
    results.reduce((total, result) => total + figure(result), 0)
  console.log(
    `${sum(({ tests }) => tests)} tests in ${results.length} files, ${sum(({ skipped }) => skipped)} skipped; ` +
      `${seconds(took)}, processor time ${seconds(sum(({ user }) => user))} + ${seconds(sum(({ system }) => system))}`,
  )
}

function processorMs({ user, system }: FileResult): number {
  return user + system
}

function name(file: string): string {
  return relative(process.cwd(), file)
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
