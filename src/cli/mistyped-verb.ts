import { type Command, CommanderError } from 'commander'
import { TriviumError } from '../core/errors.ts'
import { commandText } from '../lib/command-text.ts'
import { didYouMean, nearest } from '../lib/nearest.ts'
import { type Environs, loadFor, usage } from './command.ts'
import { skillIn, verbsOf } from './grammar.ts'
import { gatewayNames, type NameSource } from './known-names.ts'
import { verbSynonym } from './verb-synonyms.ts'

/** Nouns whose second word may also be an argument. */
const TAKE_ARGUMENTS: readonly string[] = ['message', 'state', 'backup', 'error']
/** Errors of a line whose second word was taken for an argument. */
const AS_ARGUMENT: readonly string[] = ['usage', 'gateway_not_found', 'document_not_found']

/**
 * The error that names the mistyped verb, for a line such as `message lst` whose default command
 * took the verb for an argument. Undefined if the word is a verb, or may be an argument.
 */
export async function mistypedVerb(
  program: Command,
  words: readonly string[],
  error: unknown,
  environs: Environs,
): Promise<TriviumError | undefined> {
  const [noun = '', verb = '', name] = words
  // Verbs of two words are not commands of their group.
  if (skillIn(words.filter((word) => !word.startsWith('-')))) return undefined
  const group = program.commands.find((command) => command.name() === noun)
  const verbs = allVerbsOf(noun, group)
  if (!group || group.commands.length === 0 || verb === '' || verb.startsWith('-') || verbs.includes(verb))
    return undefined
  const isUsage = error instanceof CommanderError
  if (!TAKE_ARGUMENTS.includes(noun))
    return isUsage ? unknownVerb(noun, verb, verbs, { name, cause: error }) : undefined
  const near = likeliest(verb, verbs)
  const isRefused = error instanceof TriviumError && AS_ARGUMENT.includes(error.code)
  if (near === undefined || !(isUsage || isRefused)) return undefined
  if (noun === 'message' && (await isGateway(verb, environs))) return undefined
  return unknownVerb(noun, verb, verbs, { name, cause: error })
}

/**
 * Throws if the gateway of `message <gateway> <text>` is a mistyped verb, before anything is
 * submitted. `source`: knows the gateways.
 */
export async function refuseMistypedVerb(
  message: Command,
  [gateway, name]: readonly [gateway: string, name?: string | undefined],
  source: NameSource,
  environs: Environs,
): Promise<void> {
  const verbs = allVerbsOf('message', message)
  if (gateway === 'cli' || likeliest(gateway, verbs) === undefined) return
  // Without the right to list gateways, the daemon decides.
  const gateways = await gatewayNames(source, environs).catch(() => [gateway])
  if (!gateways.includes(gateway)) throw unknownVerb('message', gateway, verbs, { name })
}

/** The verb that may be meant: one with the same meaning, or a similar word. */
function likeliest(verb: string, verbs: readonly string[]): string | undefined {
  return verbSynonym(verb, verbs) ?? nearest(verb, verbs)
}

/** The verbs of a noun: its commands, and built-in skills. */
function allVerbsOf(noun: string, group: Command | undefined): string[] {
  return [...new Set([...(group?.commands ?? []).map((one) => one.name()), ...verbsOf(noun)])]
}

type Form = (name: string | undefined) => string

const deny: Form = (id = 'ID') =>
  `To deny a request: ${commandText('approval decide', id, '--no-approve')} --reason TEXT`
const pause: Form = (name = 'NAME') =>
  `To pause one: ${commandText('gateway pause', name)}, or the same with route, skill or conversation.`
const call: Form = (name = 'NAME') => `A skill is a command by its name: ${commandText(name)}`
const holdGroup: Form = () =>
  'Its reader decides when it reads: stop that reader, and the events wait until retention removes them.'
const followJob: Form = (id = 'ID') =>
  `To wait until a job and what it queued have ended: ${commandText('job show', id, '--follow')}`
const CHECK = 'To check routes.yaml before it is loaded: `trivium route check`'
/** How to do what people may try under another name. */
const OTHER_FORMS: Readonly<Record<string, Form>> = {
  'approval approve': (id = 'ID') =>
    `To approve a request: ${commandText('approval decide', id, '--approve')}`,
  'approval deny': deny,
  'approval reject': deny,
  'group pause': holdGroup,
  'group resume': () => 'Start its reader again; it goes on with the next event.',
  'job follow': followJob,
  'job watch': followJob,
  'job wait': followJob,
  'pause resume': (name = 'NAME') =>
    `To end a pause: ${commandText('gateway resume', name)}, or the same with route, skill, conversation, schedule or subscription.`,
  'config check': () => CHECK,
  'config validate': () => CHECK,
  'config lint': () => CHECK,
  'skill run': call,
  'skill call': call,
  'skill exec': call,
  'skill invoke': call,
  'skill logs': (name = 'NAME') => `Its runs, with their errors: ${commandText('skill usage', name)}`,
  'pause add': pause,
  'pause create': pause,
}

/** The error about a verb that a noun does not have. */
export function unknownVerb(
  noun: string,
  verb: string,
  verbs: readonly string[],
  { name, cause }: { name?: string | undefined; cause?: unknown } = {},
): TriviumError {
  const form = OTHER_FORMS[`${noun} ${verb}`]
  if (form !== undefined) return usage(`${noun} has no ${verb}. ${form(wordIn(name))}`, cause)
  const near = likeliest(verb, verbs)
  const hint =
    near === undefined ? otherHint(noun, verb, verbs) : ` Did you mean \`trivium ${noun} ${near}\`?`
  return usage(`${noun} has no ${verb}.${hint} \`trivium ${noun} --help\` lists what it has.`, cause)
}

/** Suggests similar verbs, or a search if the word cannot be a verb, such as a number. */
function otherHint(noun: string, word: string, verbs: readonly string[]): string {
  const isSearched = SEARCHED_LISTS.includes(noun) && !/^[a-z-]+$/.test(word)
  return isSearched ? ` To search: ${commandText(`${noun} list`, word)}.` : didYouMean(word, verbs)
}

/** Nouns whose list takes the words of a search. */
const SEARCHED_LISTS: readonly string[] = ['approval', 'conversation', 'person']

/** The word, unless it is an option. */
function wordIn(word: string | undefined): string | undefined {
  return word?.startsWith('-') ? undefined : word
}

async function isGateway(name: string, environs: Environs): Promise<boolean> {
  const config = await loadFor(environs, { withoutVariables: 'except-store' }).catch(() => undefined)
  return name === 'cli' || config?.gateways.some((gateway) => gateway.name === name) === true
}
