import { type Command, Help, type HelpConfiguration, type Option } from 'commander'
import { NARROW_HELP } from './narrow-help.ts'

/** The commands of the main help, by what people want to do. */
export const SECTIONS: Readonly<Record<string, readonly string[]>> = {
  'See what happens:': ['status', 'trouble', 'top', 'tail', 'doctor', 'error', 'audit', 'cost'],
  'Messages:': ['message', 'conversation', 'history', 'dead-letter', 'refusal', 'send', 'run'],
  'Gateways and routes:': ['gateway', 'route', 'pause', 'email', 'slack'],
  'Events:': ['event', 'group', 'subscription', 'listen'],
  'Skills and approvals:': [
    'skill',
    'approval',
    'schedule',
    'job',
    'session',
    'callback',
    'call',
    'artifact',
    'mcp',
  ],
  'Work shared with people:': ['task', 'delegation', 'workbench', 'state'],
  'Installation:': [
    ...['init', 'demo', 'start', 'reload', 'config', 'parts', 'token', 'person'],
    ...['backup', 'restore', 'daemon', 'compact', 'store', 'completion'],
  ],
}

/** These verbs are first in the help of a noun. */
const FIRST_VERBS = ['list', 'show', 'count']

const ORDER = Object.values(SECTIONS).flat()

/** Puts the commands of the program under the headings of the main help. */
export function addSections(program: Command): void {
  const sections = Object.entries(SECTIONS)
  for (const command of program.commands) {
    const [heading] = sections.find(([, names]) => names.includes(command.name())) ?? []
    if (heading !== undefined) command.helpGroup(heading)
  }
}

/**
 * The help of the program lists only names, in the order of the sections. The help of a noun lists
 * `list` and similar verbs first. Commands inherit these settings.
 */
export const ORDERED_HELP: HelpConfiguration = {
  ...NARROW_HELP,
  subcommandTerm(command) {
    if (isMain(command.parent)) return command.name()
    // Every command has options.
    return Help.prototype.subcommandTerm.call(this, command).replace(' [options]', '')
  },
  visibleCommands(command) {
    const all = Help.prototype.visibleCommands.call(this, command)
    const order = isMain(command) ? ORDER : FIRST_VERBS
    // Others, such as skills of the project, come last.
    const placeOf = (each: Command) =>
      order.includes(each.name()) ? order.indexOf(each.name()) : order.length
    return all.filter((each) => each.name() !== 'help').toSorted((a, b) => placeOf(a) - placeOf(b))
  },
  // Commander orders the sections by `all`.
  groupItems<Item extends Command | Option>(_all: Item[], shown: Item[], groupOf: (item: Item) => string) {
    return Map.groupBy(shown, groupOf)
  },
}

function isMain(command: Command | null): boolean {
  return command !== null && command.parent === null && command.name() === 'trivium'
}
