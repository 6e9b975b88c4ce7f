import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { defined } from '../lib/defined.ts'
import { type Environs, usage } from './command.ts'
import { readsOnly } from './reads-only.ts'

/** Options of every command, before or after its name: placeholder of the value, and help. */
const GLOBAL = {
  '--config': ['<file>', 'routes.yaml to use (TRIVIUM_CONFIG)'],
  '--data-dir': ['<folder>', 'where the daemon keeps its data (TRIVIUM_DATA_DIR)'],
  '--json': ['', 'print JSON, for programs'],
  '--no-pager': ['', 'print a long list at once (TRIVIUM_PAGER, PAGER)'],
} as const

type Flag = keyof typeof GLOBAL

/** The names of the global options, without dashes. */
export const GLOBAL_NAMES = [...Object.keys(GLOBAL).map((flag) => flag.slice(2)), 'watch']

export type Globals = { json: boolean; noPager: boolean; config?: string; dataDir?: string }

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
    const placeholder = isGlobal(name) ? GLOBAL[name][0] : undefined
    const takesValue = placeholder !== ''
    if (!isGlobal(name) || (!takesValue && attached !== undefined)) {
      rest.push(word)
      continue
    }
    const value = takesValue ? (attached ?? argv[++at]) : ''
    if (takesValue && !value) problem ??= usage(`${name} needs a value: ${name} ${placeholder}`)
    found[name] = value ?? ''
  }
  const { '--config': config, '--data-dir': dataDir } = found
  return {
    rest,
    globals: { json: '--json' in found, noPager: '--no-pager' in found, ...defined({ config, dataDir }) },
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
  const has = (flag: string) => command.options.some(({ long }) => long === flag)
  for (const [flag, [placeholder, help]] of Object.entries(GLOBAL)) {
    if (has(flag)) continue
    const option = new Option(`${flag} ${placeholder}`.trim(), help)
    // Otherwise a command gets `pager: true` as if it had been given.
    option.negate = false
    command.addOption(option)
  }
  const isWatchable = command.commands.length === 0 && readsOnly(words.replace(/^trivium /, '').split(' '))
  if (isWatchable && !has('--watch'))
    command.option('--watch [seconds]', 'show it again and again (every 2 s)')
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
