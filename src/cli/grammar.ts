import { Command } from 'commander'
import { skillJsonSchema } from '../core/skill.ts'
import { builtInSkills } from '../daemon/built-in-skills.ts'
import { ORDERED_HELP } from './main-help.ts'

/** Nouns of the command line: `event wait` is the skill `event-wait`. */
export const NOUNS = [
  'approval',
  'artifact',
  'audit',
  'call',
  'callback',
  'conversation',
  'cost',
  'daemon',
  'dead-letter',
  'delegation',
  'event',
  'gateway',
  'group',
  'job',
  'message',
  'pause',
  'person',
  'refusal',
  'route',
  'run',
  'schedule',
  'send',
  'session',
  'skill',
  'slack',
  'state',
  'subscription',
  'task',
  'trouble',
  'view',
  'workbench',
]

/** The nouns without a command of their own, for the help. */
const MEANING: Readonly<Record<string, string>> = {
  approval: 'requests that wait for a decision: list, show and decide them',
  artifact: 'save a text as a file',
  call: 'calls whose outcome is unknown after a crash: list and settle them',
  callback: 'what programs outside wait for or answer while a skill runs',
  conversation: 'messages with their replies: list, show and answer them; take over, hand back; notes',
  cost: 'tokens and cost of models, with the budgets',
  daemon: 'resume all daemons after `trivium restore --paused`',
  delegation: 'work for a person or a program: list, take and accept it',
  event: 'topics: publish, read and acknowledge events',
  job: 'long-running work, such as replays: list, show and cancel it',
  pause: 'what is paused, by whom and why',
  person: 'people who wrote, and the data about one: list, show, count, export and erase it',
  schedule: 'skills that run at planned times: list, change, run and pause them',
  send: 'messages that are sent later: list and cancel them',
  session: 'what skills remember of conversations: list and delete it',
  slack: 'workspaces that installed a Slack app',
  subscription: 'push subscriptions, which send events to URLs',
  task: 'the task board of the workbench: add, claim and finish tasks',
  view: 'saved searches that everybody sees: list, save and delete them',
}

/** What a noun is about; empty for those with a command of their own. */
export function meaningOf(noun: string): string {
  return MEANING[noun] ?? ''
}

/** Verbs that are phrases of the assistant rather than commands. */
const PHRASES = ['schedule-in-words']

/**
 * The form of a skill on the command line. `first`: the argument that the first word after noun and
 * verb sets.
 */
type Spoken = { noun: string; verb: string; name: string; description: string; first?: string }

/** Further forms of skills: those of consumer groups under `group`, and `show` of one list entry. */
const OTHER_FORMS: readonly [
  noun: string,
  verb: string,
  name: string,
  first?: string | undefined,
  text?: string,
][] = [
  [
    'conversation',
    'list',
    'conversation-list',
    undefined,
    'Lists conversations: those in which somebody waits, longest first, then the newest. Later pages may repeat some.',
  ],
  [
    'conversation',
    'take-over',
    'conversation-pause',
    undefined,
    'Takes a conversation over: its messages wait until it is handed back, or with drop are not dispatched.',
  ],
  [
    'conversation',
    'hand-back',
    'conversation-resume',
    undefined,
    'Hands a conversation back: waiting messages are dispatched.',
  ],
  ['conversation', 'pause', 'conversation-pause', undefined, 'The same as conversation take over.'],
  ['conversation', 'resume', 'conversation-resume', undefined, 'The same as conversation hand back.'],
  ['group', 'list', 'event-groups'],
  ['group', 'unread', 'event-unread', 'queue'],
  ['group', 'skip', 'event-skip', 'queue'],
  ['group', 'seek', 'event-seek', 'queue'],
  ['group', 'replay', 'event-replay', 'queue'],
  ['group', 'delete', 'event-unsubscribe', 'queue'],
  ['audit', 'list', 'audit-list'],
  ['audit', 'show', 'audit-list', 'id', 'Shows one entry with its result and what it changed.'],
  [
    'approval',
    'list',
    'approval-list',
    undefined,
    'Lists approval requests: pending ones, then those decided last.',
  ],
  ['trouble', 'ack', 'trouble-acknowledge'],
  ['approval', 'show', 'approval-list', 'id', 'Shows one request with its full arguments.'],
]

/** Skills with one word as their name, under a noun. */
const OF_ONE_WORD: readonly Spoken[] = [
  {
    noun: 'refusal',
    verb: 'list',
    name: 'refused',
    description: 'Lists recent refusals of gateways, by cause.',
  },
  {
    noun: 'refusal',
    verb: 'try',
    name: 'refused-try',
    description:
      'Checks a refused delivery with another secret, without accepting it; exits with 1 if it does not fit.',
  },
  {
    noun: 'trouble',
    verb: 'list',
    name: 'troubles',
    description: 'Lists what is wrong now, since when, and what to do; exits with 1 if there is an error.',
  },
  {
    noun: 'cost',
    verb: 'show',
    name: 'cost',
    description: 'Shows tokens and cost of models, with the budgets.',
  },
]

/** Nouns that stand alone for another verb than `list`. */
const VERB_OF_NOUN: Readonly<Record<string, string>> = { cost: 'show' }

/** The forms of all built-in skills. The first form of a skill is its name in help and hints. */
const SPOKEN: readonly Spoken[] = [
  ...OTHER_FORMS.flatMap(([noun, verb, name, first, text]) => {
    const found = builtInSkills.find((one) => one.name === name)
    const description = text ?? found?.description ?? ''
    return found ? [{ noun, verb, name, description, ...(first && { first }) }] : []
  }),
  ...OF_ONE_WORD,
  ...builtInSkills.flatMap(({ name, description }) => {
    const noun = NOUNS.find((each) => name.startsWith(`${each}-`))
    if (noun === undefined || PHRASES.includes(name)) return []
    return [{ noun, verb: name.slice(noun.length + 1), name, description }]
  }),
]

/** The names of the built-in skills that have another form on the command line. */
export const WITH_FORMS: ReadonlySet<string> = new Set(SPOKEN.map(({ name }) => name))

/** The form of a built-in skill, such as `event wait`; the name of another skill. */
export function spokenName(name: string): string {
  const found = SPOKEN.find((one) => one.name === name)
  return found ? `${found.noun} ${found.verb.replaceAll('-', ' ')}` : name
}

/** The form of a built-in skill, with its words for the help; without `first` its first form. */
export function formOf(name: string, first: string | undefined): Spoken | undefined {
  return SPOKEN.find((one) => one.name === name && (first === undefined || one.first === first))
}

/** Other nouns that people may try, with the command for each. */
const SYNONYMS: Readonly<Record<string, string>> = {
  topic: 'group list',
  queue: 'dead-letter list',
  log: 'history',
  logs: 'history',
  events: 'event wait',
  webhook: 'gateway list',
  push: 'subscription list',
  dlq: 'dead-letter list',
  paused: 'pause list',
  budget: 'cost show',
  usage: 'cost show',
  errors: 'trouble list',
  problem: 'trouble list',
  alert: 'trouble list',
  secret: 'refusal try',
  mailbox: 'gateway list',
  version: '--version',
  ps: 'run list',
  ls: 'message list',
  search: 'message list --search TEXT',
  show: 'message show',
  retry: 'dead-letter retry',
  replay: 'subscription replay',
  erase: 'person erase',
  kill: 'run cancel',
  validate: 'route check',
  check: 'route check',
  lint: 'route check',
  health: 'doctor',
  users: 'person list',
  people: 'person list',
  customers: 'person list',
  reply: 'conversation answer',
  answer: 'conversation answer',
  approve: 'approval decide',
  deny: 'approval decide',
  list: 'message list',
  inbox: 'conversation list',
  watch: 'top',
}

/** Words without a command, and what to do instead. */
const INSTEAD: Readonly<Record<string, string>> = {
  stop: 'A daemon ends with Ctrl-C or a SIGTERM, such as `systemctl stop trivium`; `trivium status` has its pid.',
  restart:
    'A changed routes.yaml takes effect with `trivium reload`. To restart the process: `systemctl restart trivium`, or end it and `trivium start`.',
}

/** Replaces names of skills in a text by their forms, in backticks: `job show` for `job-show`. */
export function inCommandWords(text: string): string {
  return text.replaceAll(/(`?)\b([a-z]+(?:-[a-z]+)+)\b\1/g, (found, _quote, word: string) =>
    SPOKEN.some(({ name }) => name === word) ? `\`${spokenName(word)}\`` : found,
  )
}

/** The description of a skill in the style of the other commands. */
function summaryOf(description: string): string {
  const [first = '', ...others] = inCommandWords(description).replace(/\.$/, '').split('')
  return [first.toLowerCase(), ...others].join('')
}

/** The verbs of a noun, as one types them. */
export function verbsOf(noun: string): string[] {
  const verbs = SPOKEN.filter((one) => one.noun === noun).map(({ verb }) => verb.replaceAll('-', ' '))
  return [...new Set(verbs)]
}

/** A hint for an unknown word: the command that covers it, or a similar noun. */
export function nounHint(word: string): string {
  if (Object.hasOwn(INSTEAD, word)) return ` ${INSTEAD[word]}`
  const synonym = Object.hasOwn(SYNONYMS, word) ? SYNONYMS[word] : undefined
  const found = synonym ?? NOUNS.find((noun) => `${noun}s` === word || noun.slice(0, -1) === word)
  return found === undefined ? '' : ` Did you mean \`trivium ${found}\`?`
}

/**
 * The built-in skill that a command line starts with (noun and verb), the number of these words,
 * and the argument that the next word sets. Undefined if it starts with none.
 */
export function skillIn(
  words: readonly string[],
): { name: string; count: number; first?: string | undefined } | undefined {
  // Verbs have up to two words.
  for (const count of [3, 2]) {
    const joined = words.slice(0, count).join('-')
    const found = SPOKEN.find(({ noun, verb }) => `${noun}-${verb}` === joined)
    if (words.length >= count && found) return { name: found.name, count, first: found.first }
  }
  return undefined
}

/** The verb that a noun alone stands for: its list, if that needs no arguments. */
export function listOf(noun: string): string | undefined {
  if (Object.hasOwn(VERB_OF_NOUN, noun)) return VERB_OF_NOUN[noun]
  const list = SPOKEN.find((one) => one.noun === noun && one.verb === 'list')
  const skill = builtInSkills.find((one) => one.name === list?.name)
  const needsArguments = skill !== undefined && skillJsonSchema(skill).required !== undefined
  return list && !needsArguments ? 'list' : undefined
}

/** The words of a command line with the verb that a noun alone stands for. */
export function withVerb(words: readonly string[]): readonly string[] {
  const [noun = '', second] = words
  const isAlone = second === undefined || (second.startsWith('-') && second !== '-h' && second !== '--help')
  const verb = isAlone ? listOf(noun) : undefined
  return verb === undefined ? words : [noun, verb, ...words.slice(1)]
}

/** A command that lists the verbs of a noun in its help; undefined for other words. */
export function groupOf(noun: string): Command | undefined {
  if (!SPOKEN.some((one) => one.noun === noun)) return undefined
  const group = new Command(`trivium ${noun}`)
    .configureHelp(ORDERED_HELP)
    .description(meaningOf(noun))
    .usage('<verb> [options]')
    .exitOverride()
    .helpCommand(false)
  listVerbs(group, noun)
  return group
}

/** Adds the skills of a noun to the help of its command, in addition to existing verbs. */
export function listVerbs(group: Command, noun: string): void {
  const all = SPOKEN.filter((one) => one.noun === noun)
  for (const [at, { verb, name: skill, description }] of all.entries()) {
    // Another verb for the same, such as `trouble acknowledge` for `trouble ack`.
    if (all.findIndex((one) => one.name === skill && one.description === description) < at) continue
    const name = verb.replaceAll('-', ' ')
    // A name with a space is not a command, only a line of the help.
    if (!group.commands.some((command) => command.name() === name))
      group.addCommand(new Command(name).summary(summaryOf(description)).copyInheritedSettings(group))
  }
}

/** Adds the nouns without a command of their own to the main help. */
export function listNouns(program: Command): void {
  for (const noun of NOUNS) {
    const verbs = SPOKEN.filter((one) => one.noun === noun).map(({ verb }) => verb.replaceAll('-', ' '))
    if (verbs.length === 0 || program.commands.some((command) => command.name() === noun)) continue
    const group = groupOf(noun)
      ?.name(noun)
      .summary(MEANING[noun] ?? verbs.join(', '))
    if (group) program.addCommand(group.copyInheritedSettings(program))
  }
}
