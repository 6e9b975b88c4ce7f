import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { COMMANDS, type FileResult, RESULTS } from './result.ts'

/** `timeout` (ms) limits each test. */
type Options = { namePatterns: string[]; timeout: number; signal: AbortSignal; isVerbose: boolean }
type Runner = Awaited<ReturnType<typeof openProcess>>

const RUNNER = fileURLToPath(new URL('runner.ts', import.meta.url))
const REPORTER = new URL('reporter.ts', import.meta.url).href
/** The time limit of a file, as a multiple of the timeout of one test. */
const FILE_TIMEOUT_FACTOR = 2
/** How long a process may take to end before it is killed. */
const EXIT_TIMEOUT_MS = 10_000
/** How long to wait, after a failed file, for output that was written before its result. */
const OUTPUT_DELAY_MS = 50

/**
 * Opens a runner: it runs one test file at a time. With `isAlone`, a file gets a process of its
 * own. The others share one, which is replaced after a failure.
 */
export function openRunner(options: Options) {
  let shared: Runner | undefined
  return {
    async run(file: string, isAlone: boolean): Promise<{ result: FileResult; output: string }> {
      const runner = isAlone ? openProcess(options, file) : (shared ?? openProcess(options))
      if (!isAlone) shared = runner
      const outcome = await runner.run(file)
      // Leftovers of a failed file could fail others.
      if (!isAlone && !outcome.result.passed) {
        await shared?.end()
        shared = undefined
      }
      return outcome
    },
    async close() {
      await shared?.end()
    },
  }
}

/** Starts a process: for `onlyFile`, or for the files that are passed to `run`. */
function openProcess({ namePatterns, timeout, signal, isVerbose }: Options, onlyFile?: string) {
  const flags = [
    // Loading modules makes many short-lived strings: a large young generation saves a tenth of the
    // time.
    ...['--max-semi-space-size=32', '--min-semi-space-size=16'],
    `--test-reporter=${REPORTER}`,
    '--test-reporter-destination=stderr',
    `--test-timeout=${timeout}`,
    // Ends the process even if a library left a connection open. Other tests check that daemons end
    // by themselves.
    ...(onlyFile ? ['--test-force-exit'] : []),
    ...namePatterns.map((pattern) => `--test-name-pattern=${pattern}`),
  ]
  const child = spawn(process.execPath, [...flags, RUNNER, ...(onlyFile ? [onlyFile] : [])], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
    signal,
  })
  child.on('error', () => undefined)
  const closed = new Promise<void>((resolve) => {
    child.once('close', () => resolve())
    // A process that it started and left running keeps its output open.
    child.once('exit', () => setTimeout(resolve, EXIT_TIMEOUT_MS).unref())
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (text) => {
      if (isVerbose) process.stdout.write(text)
      else output += text
    })
  }
  const results = createInterface({ input: readable(child) })
  /** Lets the process end by itself, so that it can stop what it started; then kills it. */
  const end = async () => {
    writable(child).end()
    await Promise.race([closed, pause(EXIT_TIMEOUT_MS, undefined, { ref: false })])
    child.kill('SIGKILL')
  }

  return {
    async run(file: string) {
      output = ''
      const began = performance.now()
      const limit = pause(timeout * FILE_TIMEOUT_FACTOR, 'too long', { ref: false })
      if (!onlyFile) writable(child).write(`${file}\n`)
      const line = await Promise.race([once(results, 'line'), closed, limit])
      if (onlyFile || !Array.isArray(line)) await end()
      const result = Array.isArray(line)
        ? (JSON.parse(String(line[0])) satisfies FileResult)
        : failedWithoutResult(
            file,
            performance.now() - began,
            line ?? `the process ended (${child.signalCode ?? child.exitCode})`,
          )
      if (!result.passed) await pause(OUTPUT_DELAY_MS)
      return { result, output }
    },
    end,
  }
}

function failedWithoutResult(file: string, ms: number, why: string): FileResult {
  return {
    file,
    passed: false,
    tests: 0,
    skipped: 0,
    ms,
    user: 0,
    system: 0,
    processes: 0,
    failures: [`✖ ${why}`],
  }
}

function readable(child: ChildProcess) {
  const stream = child.stdio[RESULTS]
  if (!stream || !('read' in stream)) throw new Error('the runner has no pipe for results')
  return stream
}

function writable(child: ChildProcess) {
  const stream = child.stdio[COMMANDS]
  if (!stream || !('write' in stream)) throw new Error('the runner has no pipe for commands')
  return stream
}
