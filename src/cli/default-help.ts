import type { Command } from 'commander'
import { GLOBAL_NAMES } from './global-options.ts'

const helpOnly = new WeakSet<Command>()

/** Marks a group that has no default command. */
export function showHelpAlone(group: Command): void {
  helpOnly.add(group)
}

const lists = new WeakSet<Command>()

/** Marks a group whose noun alone, with or without flags, is its list, which is an operation. */
export function listAlone(group: Command): void {
  lists.add(group)
  showHelpAlone(group)
}

/** Whether the noun of a group with flags alone is its list. */
export function listsAlone(group: Command): boolean {
  return lists.has(group)
}

/**
 * Whether a group without arguments can only show its help: it has no default command, or one that
 * needs arguments.
 */
export function showsHelpAlone(group: Command): boolean {
  return helpOnly.has(group)
}

/**
 * Adds the arguments and options of a command to the help of its group, which runs it by default:
 * `trivium message cli hello` is `trivium message send cli hello`.
 */
export function showDefault(group: Command, command: Command): void {
  const required = command.registeredArguments.filter((argument) => argument.required)
  if (required.length > 0) helpOnly.add(group)
  const instead = required.map((it) => `<${it.name()}${it.variadic ? '...' : ''}>`).join(' ')
  const when = required.length > 0 ? `With ${instead} instead of a command` : 'Without a command'
  group.addHelpText('after', () => {
    const help = command.createHelp()
    const style = { helpWidth: process.stdout.columns || 80 }
    help.prepareContext(style)
    const entries = [
      ...help
        .visibleArguments(command)
        .map((argument) => [help.argumentTerm(argument), help.argumentDescription(argument)]),
      ...help
        .visibleOptions(command)
        .filter(
          ({ long }) =>
            long !== '--help' && long !== '--args' && !GLOBAL_NAMES.includes(String(long).slice(2)),
        )
        .map((option) => [option.flags, help.optionDescription(option)]),
    ]
    if (entries.length === 0) return ''
    const longest = Math.max(...entries.map(([term = '']) => term.length))
    const lines = entries.map(([term = '', text = '']) => help.formatItem(term, longest, text, help))
    return `\n${when}, it is ${group.name()} ${command.name()}:\n${lines.join('\n')}`
  })
}
