import { existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import type { LoadOptions } from '../config/load-config.ts'
import { TriviumError } from '../core/errors.ts'
import { parseDuration, parseTime } from '../core/units.ts'
import { attempt } from '../lib/attempt.ts'
import { defined } from '../lib/defined.ts'
import type { Terminal } from './terminal.ts'

/**
 * The context of every command. `environs` and `terminal` are read when the command runs, because
 * the global flags are only known then.
 */
export type CommandContext = {
  environs(): Environs
  terminal(): Terminal
  /** The names of all commands that are not skills. */
  commands(): string[]
  /** Runs another command line with the same global flags. Resolves with all that it prints. */
  output(line: readonly string[]): Promise<string>
  /** Sets the exit code of the program once the command is done. */
  exit(code: number): void
}

/** Adds one or several related commands to the program. The only export of each command file. */
export type AddCommand = (program: Command, context: CommandContext) => void

/** The environment of a command. */
export type Environs = {
  env: Readonly<Record<string, string | undefined>>
  /** Makes the variables of `.env` visible to code of skills. Missing if the process is shared. */
  share?(variables: Environs['env']): void
  cwd: string
  version: string
  /** `--config`. */
  path?: string
  /** Reports on stderr why the command is waiting. */
  tell?(text: string): void
}

/** The path of a file in the repository or package. Built code lies one folder deeper. */
export function ownFile(name: string): string {
  const paths = ['../../', '../../../'].map((root) => fileURLToPath(new URL(root + name, import.meta.url)))
  const found = paths.find((path) => existsSync(path))
  if (found === undefined) throw new TriviumError('internal', { reason: `${name} of Trivium is missing` })
  return found
}

/** Reads the configuration; again on each call. */
export async function loadFor(
  { env, cwd, path }: Environs,
  options: Pick<LoadOptions, 'skills' | 'withoutVariables' | 'onlyStore'> = {},
) {
  // Loaded on first use, for commands without a configuration.
  const [{ loadConfig }, { transports }] = await Promise.all([
    import('../config/load-config.ts'),
    import('../../transports/registry.ts'),
  ])
  return loadConfig({ env, cwd, transports, ...options, ...defined({ path }) })
}

/** The exit code of a command whose wait ended without a result. */
export const EXIT_NOTHING = 4

/** The error for an invalid command line. */
export function usage(details: string, cause?: unknown): TriviumError {
  return new TriviumError('usage', { details }, { cause })
}

/** Parses a flag as an integer, 0 or more. Throws `usage` for anything else. */
export function wholeNumber(flag: string): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value
    throw usage(`${flag} must be a whole number, not ${JSON.stringify(text)}`)
  }
}

/** Makes the parser of a flag that is a duration, to ms. It throws `usage`. */
export function milliseconds(flag: string): (text: string) => number {
  return (text) => {
    const ms = parseDuration(text)
    if (ms !== undefined) return Math.round(ms)
    throw usage(
      `${flag} takes milliseconds, or a duration such as 500ms, 30s or 5m, not ${JSON.stringify(text)}`,
    )
  }
}

/** Parses a flag as a time (UTC without a zone) or an age, to Unix ms. Throws `usage`. */
export function timeOf(flag: string, text: string): number {
  const time = parseTime(text)
  if (time === undefined)
    throw usage(`${flag} is a time such as 2026-11-21T10:00:00Z, "yesterday 10:00" or 2h, not ${text}`)
  return time
}

/**
 * Signals within this time (ms) after the first count as the same: npm, `timeout` and the launcher
 * on an older Node send a signal two or three times.
 */
export const SAME_SIGNAL_WITHIN = 500

/** The exit code of a process that a signal ended: 128 plus the number of the signal. */
export function exitCodeOf(signal: string): number {
  return signal === 'SIGINT' ? 130 : 143
}

/**
 * A signal that aborts when the user interrupts the command. A second interrupt after at least half
 * a second ends the process.
 */
export function interruption(): AbortSignal {
  const interrupted = new AbortController()
  let firstAt: number | undefined
  const onSignal = (signal: NodeJS.Signals) => {
    const isSecond = firstAt !== undefined && performance.now() - firstAt >= SAME_SIGNAL_WITHIN
    if (isSecond) process.exit(exitCodeOf(signal))
    firstAt ??= performance.now()
    interrupted.abort()
  }
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, onSignal)
  return interrupted.signal
}

/** The name of the user. In a container, the user may only have a number. */
export function userName(): string {
  return attempt(() => userInfo().username) ?? String(process.getuid?.() ?? 'user')
}
