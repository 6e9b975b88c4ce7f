import { resolve } from 'node:path'
import type { Command } from 'commander'
import { defined } from '../lib/defined.ts'
import { type Environs, usage } from './command.ts'

/** Options of every command, before or after its name: placeholder of the value, and help. */
const GLOBAL = {
  '--config': ['<file>', 'routes.yaml to use (TRIVIUM_CONFIG)'],
  '--data-dir': ['<folder>', 'where the daemon keeps its data (TRIVIUM_DATA_DIR)'],
  '--json': ['', 'print JSON, for programs'],
} as const

type Flag = keyof typeof GLOBAL

/** The names of the global options, without dashes. */
export const GLOBAL_NAMES = Object.keys(GLOBAL).map((flag) => flag.slice(2))

export type Globals = { json: boolean; config?: string; dataDir?: string }

/**
 * Separates the global options from the rest of a command line, up to `--`. `problem`: an option
 * without its value.
 */
export function takeGlobals(argv: readonly string[]): { rest: string[]; globals: Globals; problem?: Error } {
  const found: Partial<Record<Flag, string>> = {}
  const rest: string[] = []
  let problem: Error | undefined
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] ?? ''
    if (word === '--') {
      rest.push(...argv.slice(at))
      break
    }
    const [, name = word, attached] = /^(--[a-z-]+)=(.*)$/s.exec(word) ?? []
    if (!isGlobal(name) || (name === '--json' && attached !== undefined)) {
      rest.push(word)
      continue
    }
    const [placeholder] = GLOBAL[name]
    const takesValue = placeholder !== ''
    const value = takesValue ? (attached ?? argv[++at]) : ''
    if (takesValue && !value) problem ??= usage(`option '${name} ${placeholder}' argument missing`)
    found[name] = value ?? ''
  }
  const { '--config': config, '--data-dir': dataDir } = found
  return {
    rest,
    globals: { json: '--json' in found, ...defined({ config, dataDir }) },
    ...defined({ problem }),
  }
}

/** The folders of a command line as its words, for another command line. */
export function wordsOf({ config, dataDir }: Globals): string[] {
  const words = (flag: Flag, value: string | undefined) => (value === undefined ? [] : [flag, value])
  return [...words('--config', config), ...words('--data-dir', dataDir)]
}

function isGlobal(word: string): word is Flag {
  return Object.hasOwn(GLOBAL, word)
}

/**
 * Prepares a command and its subcommands: adds the global options to their help, and makes their
 * usage errors name that help. `parents`: the words before the name of the command.
 */
export function listGlobals(command: Command, parents = ''): void {
  const words = `${parents} ${command.name()}`.trim()
  command.showHelpAfterError(`\`${words} --help\` lists the arguments and options.`)
  for (const [flag, [placeholder, help]] of Object.entries(GLOBAL)) {
    if (command.options.some(({ long }) => long === flag)) continue
    command.option(`${flag} ${placeholder}`.trim(), help)
  }
  for (const nested of command.commands) listGlobals(nested.exitOverride(), words)
}

/** The environment of a command according to the global options. */
export function environsOf(
  { config: path, dataDir }: Globals,
  { env, ...rest }: Pick<Environs, 'env' | 'cwd' | 'share' | 'version'> & Required<Pick<Environs, 'tell'>>,
): Environs {
  const own = dataDir === undefined ? {} : { TRIVIUM_DATA_DIR: resolve(rest.cwd, dataDir) }
  return { ...rest, env: { ...env, ...own }, ...defined({ path }) }
}
