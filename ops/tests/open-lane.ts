import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { COMMANDS, type FileResult, RESULTS } from './result.ts'

type Options = { namePatterns: string[]; timeout: number; signal: AbortSignal; isTalkative: boolean }
type Lane = Awaited<ReturnType<typeof openProcess>>

const LANE = fileURLToPath(new URL('lane.ts', import.meta.url))
const REPORTER = new URL('reporter.ts', import.meta.url).href
/** How many times the limit of a test a file may take. */
const TESTS_AT_LIMIT = 2
/** How long a process may take to end, in ms. */
const PATIENCE_MS = 10_000

/** A place where one file runs at a time. `isAlone` gives the file a process of its own; the others share one while all is well with it. */
export function openLane(options: Options) {
  let shared: Lane | undefined
  return {
    async run(file: string, isAlone: boolean): Promise<{ result: FileResult; output: string }> {
      const lane = isAlone ? openProcess(options, file) : (shared ?? openProcess(options))
      if (!isAlone) shared = lane
      const outcome = await lane.run(file)
      // What a failed file has left behind would fail others.
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

/** Starts a process for one file, or for any. */
function openProcess({ namePatterns, timeout, signal, isTalkative }: Options, alone?: string) {
  const flags = [
    // Modules, many of them short-lived strings: a large new space spares a tenth of the time.
    ...['--max-semi-space-size=32', '--min-semi-space-size=16'],
    `--test-reporter=${REPORTER}`,
    '--test-reporter-destination=stderr',
    `--test-timeout=${timeout}`,
    // A connection that a library forgot to close must not hold up all; daemons are seen to end by themselves.
    ...(alone ? ['--test-force-exit'] : []),
    ...namePatterns.map((pattern) => `--test-name-pattern=${pattern}`),
  ]
  const stdio = ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'] as const
  const child = spawn(process.execPath, [...flags, LANE, ...(alone ? [alone] : [])], {
    stdio: [...stdio],
    signal,
  })
  child.on('error', () => undefined)
  const closed = new Promise<void>((resolve) => {
    child.once('close', () => resolve())
    // What it has started and left behind may hold its output open for ever.
    child.once('exit', () => setTimeout(resolve, PATIENCE_MS).unref())
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (text) => {
      if (isTalkative) process.stdout.write(text)
      else output += text
    })
  }
  const results = createInterface({ input: readable(child) })
  /** Lets the process end, so that it takes along what it has started. */
  const end = async () => {
    writable(child).end()
    await Promise.race([closed, pause(PATIENCE_MS, undefined, { ref: false })])
    child.kill('SIGKILL')
  }

  return {
    async run(file: string) {
      output = ''
      const began = performance.now()
      const limit = pause(timeout * TESTS_AT_LIMIT, 'too long', { ref: false })
      if (!alone) writable(child).write(`${file}\n`)
      const line = await Promise.race([once(results, 'line'), closed, limit])
      if (alone || !Array.isArray(line)) await end()
      const result = Array.isArray(line)
        ? (JSON.parse(String(line[0])) satisfies FileResult)
        : cutShort(
            file,
            performance.now() - began,
            line ?? `the process ended (${child.signalCode ?? child.exitCode})`,
          )
      // What was written before the result is in the pipe by now.
      if (!result.passed) await pause(50)
      return { result, output }
    },
    end,
  }
}

/** The result of a file that did not tell how it ended. */
function cutShort(file: string, ms: number, why: string): FileResult {
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
  if (!stream || !('read' in stream)) throw new Error('the lane has no pipe for results')
  return stream
}

function writable(child: ChildProcess) {
  const stream = child.stdio[COMMANDS]
  if (!stream || !('write' in stream)) throw new Error('the lane has no pipe for commands')
  return stream
}
