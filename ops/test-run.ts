import { availableParallelism } from 'node:os'
import { relative } from 'node:path'
import { Readable } from 'node:stream'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'

type TestRun = {
  files: string[]
  namePatterns: string[]
  timeout: number
  deadline: number
  /** Prints what the tests write as it comes: long ones tell how far they are, and their figures. */
  isTalkative: boolean
}
type FileTime = { file: string; ms: number }

const SLOWEST = 8
const BLOCK = 'process.stdout._handle?.setBlocking?.(true)'

/**
 * Runs test files, each in a process of its own, and prints one line a file, what failed in full, and
 * the slowest files. `timeout` (ms) is for each test and `deadline` for all. Resolves with whether
 * everything passed.
 */
export async function runTests(options: TestRun): Promise<boolean> {
  const { files, namePatterns, timeout, deadline, isTalkative } = options
  const stop = new AbortController()
  const timer = setTimeout(() => {
    console.log(`✖ not done after ${deadline / 60_000} minutes: the files without a line above still ran`)
    stop.abort()
  }, deadline)
  process.once('SIGINT', () => stop.abort())
  process.once('SIGTERM', () => stop.abort())

  const events = run({
    files,
    timeout,
    // Many files wait for servers most of their time, and leave a core to another.
    concurrency: availableParallelism() + 1,
    // A connection that a library forgot to close must not hold up all for the deadline; daemons are seen to end by themselves.
    // What it still had to tell would be lost then, were its writes not to block.
    execArgv: ['--test-force-exit', `--import=data:text/javascript,${BLOCK}`],
    signal: stop.signal,
    ...(namePatterns.length > 0 ? { testNamePatterns: namePatterns } : {}),
  })
  const times: FileTime[] = []
  const outcome = { passed: true }
  await print(Readable.from(shorten(events, times, outcome, isTalkative)).compose(new spec()))
  clearTimeout(timer)
  if (times.length > 3) printSlowest(times)
  const untold = files.length - times.length
  if (outcome.passed && untold > 0) console.log(`✖ ${untold} files did not tell how they ended`)
  return outcome.passed && untold === 0 && !stop.signal.aborted
}

type TestEvents = ReturnType<typeof run>

/** Passes on what the reader needs: the lines of files, failures, the output of files that failed, the counts. */
async function* shorten(
  events: TestEvents,
  times: FileTime[],
  outcome: { passed: boolean },
  isTalkative: boolean,
) {
  const output = new Map<string, string>()
  for await (const event of events) {
    if (event.type === 'test:stdout' || event.type === 'test:stderr') {
      if (isTalkative) process.stdout.write(event.data.message)
      else output.set(event.data.file, (output.get(event.data.file) ?? '') + event.data.message)
    } else if (event.type === 'test:fail') {
      outcome.passed &&= event.data.todo !== undefined
      const { file, name: test } = event.data
      // A file that ends before its tests do has no summary; why it ended is in its output.
      if (file !== undefined && test === file) console.log(`✖ ${name(file)}\n${output.get(file) ?? ''}`)
      yield event
    } else if (event.type === 'test:summary' && event.data.file !== undefined) {
      const { file, duration_ms: ms, counts, success } = event.data
      times.push({ file, ms })
      console.log(`${success ? '✔' : '✖'} ${name(file)}  ${counts.tests} tests, ${seconds(ms)}`)
      if (!success) console.log(output.get(file) ?? '')
      output.delete(file)
      outcome.passed &&= success
    } else if (
      event.type === 'test:summary' ||
      (event.type === 'test:diagnostic' && event.data.nesting === 0)
    ) {
      yield event
    }
  }
}

async function print(lines: AsyncIterable<unknown>): Promise<void> {
  for await (const line of lines) process.stdout.write(String(line))
}

function printSlowest(times: FileTime[]): void {
  const slowest = times.sort((a, b) => b.ms - a.ms).slice(0, SLOWEST)
  console.log(`Slowest: ${slowest.map(({ file, ms }) => `${name(file)} ${seconds(ms)}`).join(', ')}`)
}

function name(file: string): string {
  return relative(process.cwd(), file)
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
