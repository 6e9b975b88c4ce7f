import { parseDuration } from '../core/units.ts'
import { ageText } from '../lib/age-text.ts'
import { shellWord } from '../lib/command-text.ts'
import { paint } from '../lib/paint.ts'
import { pause } from '../lib/pause.ts'
import { interruption, usage } from './command.ts'
import type { Terminal } from './terminal.ts'

const FLAGS: ReadonlySet<string> = new Set(['--watch', '-w'])
/** Interval (ms) without a number. */
const DEFAULT_INTERVAL = 2_000
/** A longer one is a word of a search: `history --watch 47117`. */
const MAX_INTERVAL = 3_600_000
const MIN_INTERVAL = 500

/** A command line to show again and again, without `--watch`, and the interval (ms). */
type Watched = { line: string[]; interval: number }

/** The command line that `--watch` or `-w` belongs to. Undefined without it. Throws `usage`. */
export function watchedIn(rest: readonly string[]): Watched | undefined {
  const at = rest.findIndex((word) => FLAGS.has(word) || word.startsWith('--watch='))
  const end = rest.indexOf('--')
  if (at < 0 || (end >= 0 && end < at)) return undefined
  const [, attached] = /^--watch=(.*)$/.exec(rest[at] ?? '') ?? []
  const next = attached === undefined ? intervalOf(rest[at + 1]) : undefined
  const given = attached === undefined ? next : intervalOf(attached)
  if (attached !== undefined && given === undefined)
    throw usage(`--watch takes seconds, or a duration such as 5s or 1m, not ${JSON.stringify(attached)}`)
  return {
    line: rest.toSpliced(at, next === undefined ? 1 : 2),
    interval: Math.max(MIN_INTERVAL, given ?? DEFAULT_INTERVAL),
  }
}

function intervalOf(word: string | undefined): number | undefined {
  if (word === undefined) return undefined
  const ms = /^\d+(\.\d+)?$/.test(word) ? Number(word) * 1_000 : parseDuration(word)
  return ms !== undefined && ms > 0 && ms <= MAX_INTERVAL ? ms : undefined
}

/** The output of a command, its exit code, and its time (Unix ms). */
type Run = { code: number; out: string; err: string; at: number }

/**
 * Shows the output of a command in place of the terminal's content, again and again, until `q` or
 * Ctrl-C. Resolves with the exit code. A command that fails at first is not repeated. Throws `usage`
 * without a terminal.
 */
export async function watch(
  { line, interval }: Watched,
  terminal: Terminal,
  run: (line: readonly string[]) => Promise<Run>,
): Promise<number> {
  if (terminal.json || !terminal.isTerminal)
    throw usage(
      `--watch redraws a terminal${terminal.json ? ', and does not go with --json' : ''}. In a script, repeat the command.`,
    )
  let latest = await run(line)
  if (latest.code !== 0 && latest.out === '') {
    terminal.err(latest.err)
    return latest.code
  }
  const ended = new AbortController()
  const signal = AbortSignal.any([interruption(), ended.signal])
  const title = ['trivium', ...line].map(shellWord).join(' ')
  const shown = () => {
    const time = `${new Date(latest.at).toISOString().slice(11, 19)} UTC`
    const head = `${paint('bold', title)}  every ${ageText(interval)}, ${time}; q quits`
    return [head, ...fitting(latest.out + latest.err)]
  }
  const quit = () => ended.abort()
  const screen = terminal.enterScreen(shown, quit, (key) => key !== 'q' && key !== 'escape')
  screen.draw()
  try {
    while (!signal.aborted) {
      await pause(interval, signal)
      if (signal.aborted) break
      latest = await run(line)
      screen.draw()
    }
  } finally {
    screen.leave()
  }
  return 0
}

/** The lines that fit below the title; the last one says how many do not. */
function fitting(text: string): string[] {
  const lines = text.trimEnd().split('\n')
  const room = (process.stdout.rows || 24) - 1
  if (lines.length <= room) return lines
  return [...lines.slice(0, room - 1), `… and ${lines.length - room + 1} more lines`]
}
