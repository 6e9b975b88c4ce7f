import { type Command, Help, type HelpConfiguration, type Option } from 'commander'
import { SUMMARIES } from './main-summaries.ts'
import { NARROW_HELP } from './narrow-help.ts'

/** The commands of the main help, by what people want to do. */
export const SECTIONS: Readonly<Record<string, readonly string[]>> = {
  'See what happens:': ['status', 'trouble', 'top', 'tail', 'doctor', 'error', 'audit', 'cost'],
  'Messages and people:': [
    ...['message', 'conversation', 'history', 'dead-letter', 'refusal', 'send', 'run', 'person', 'view'],
  ],
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
    ...['init', 'demo', 'start', 'reload', 'config', 'parts', 'token'],
    ...['backup', 'restore', 'daemon', 'compact', 'store', 'completion'],
  ],
}

/** Examples at the end of the main help. */
export const FIRST_EXAMPLES = `Examples:
  trivium status                        # begin here
  trivium message list --search 'from:petra order 4655'
  trivium dead-letter retry --all --error 'Bad Gateway'
  trivium approval decide ID --approve
  trivium message list --json | jq '.messages[].id'`

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
  subcommandDescription(command) {
    const summary = isMain(command.parent) ? SUMMARIES[command.name()] : undefined
    return summary ?? Help.prototype.subcommandDescription.call(this, command)
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
