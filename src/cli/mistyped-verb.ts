import { type Command, CommanderError } from 'commander'
import { TriviumError } from '../core/errors.ts'
import { didYouMean, nearest } from '../lib/nearest.ts'
import { type Environs, loadFor, usage } from './command.ts'
import { verbsOf } from './grammar.ts'

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
  [noun = '', verb = '']: readonly string[],
  error: unknown,
  environs: Environs,
): Promise<TriviumError | undefined> {
  const group = program.commands.find((command) => command.name() === noun)
  const verbs = [...new Set([...(group?.commands ?? []).map((one) => one.name()), ...verbsOf(noun)])]
  if (!group || group.commands.length === 0 || verb === '' || verb.startsWith('-') || verbs.includes(verb))
    return undefined
  const isUsage = error instanceof CommanderError
  if (!TAKE_ARGUMENTS.includes(noun)) return isUsage ? unknownVerb(noun, verb, verbs, error) : undefined
  const near = nearest(verb, verbs)
  const isRefused = error instanceof TriviumError && AS_ARGUMENT.includes(error.code)
  if (near === undefined || !(isUsage || isRefused)) return undefined
  if (noun === 'message' && (await isGateway(verb, environs))) return undefined
  return unknownVerb(noun, verb, verbs, error)
}

const DENY = 'To deny a request: `trivium approval decide ID --no-approve --reason TEXT`'
/** How to do what people may try under another name. */
const OTHER_FORMS: Readonly<Record<string, string>> = {
  'approval approve': 'To approve a request: `trivium approval decide ID --approve`',
  'approval deny': DENY,
  'approval reject': DENY,
  'pause resume':
    'To end a pause: `trivium gateway resume NAME`; also `trivium route resume NAME`, and the same for skill, conversation, schedule and subscription.',
}

/** The error about a verb that a noun does not have. */
export function unknownVerb(
  noun: string,
  verb: string,
  verbs: readonly string[],
  cause?: unknown,
): TriviumError {
  const form = OTHER_FORMS[`${noun} ${verb}`]
  if (form !== undefined) return usage(`${noun} has no ${verb}. ${form}`, cause)
  const near = nearest(verb, verbs)
  const hint = near === undefined ? didYouMean(verb, verbs) : ` Did you mean \`trivium ${noun} ${near}\`?`
  return usage(`${noun} has no ${verb}.${hint} \`trivium ${noun} --help\` lists what it has.`, cause)
}

async function isGateway(name: string, environs: Environs): Promise<boolean> {
  const config = await loadFor(environs, { withoutVariables: 'except-store' }).catch(() => undefined)
  return name === 'cli' || config?.gateways.some((gateway) => gateway.name === name) === true
}
