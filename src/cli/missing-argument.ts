import type { Command } from 'commander'
import type { TriviumError } from '../core/errors.ts'
import { type Json, type JsonObject, objectsIn, pathGet } from '../core/json.ts'
import { shellWord } from '../lib/command-text.ts'
import { shorten } from '../lib/short-text.ts'
import { isOfAssistant } from './assistant-words.ts'
import { usage } from './command.ts'
import type { Connection } from './connection.ts'
import { findsGateway } from './conversation-alone.ts'
import { listOf, NOUNS, skillIn, spokenName } from './grammar.ts'
import { isSecret } from './secret-input.ts'

type Daemon = Pick<Connection, 'running' | 'invoke' | 'skills'>
type Schema = { properties: Record<string, JsonObject>; required: readonly string[] }

/** What may be meant. `about`: what they have in common, such as `paused`. */
type Candidates = { about?: string; names: readonly string[] }

/** Maximum number of candidates in an error. */
const MOST_NAMED = 8
const LONGEST_TEXT = 60
const MOST_MESSAGES = 20

/**
 * The error for a built-in skill without a required argument: it names the argument, the form of
 * the command, and what may be meant. Undefined if nothing is missing. `places`: the arguments that
 * can be given without their names.
 */
export async function missingArgument(
  name: string,
  args: JsonObject,
  { properties, required }: Schema,
  { places, daemon }: { places: readonly string[]; daemon: Daemon },
): Promise<TriviumError | undefined> {
  // `conversation show ID` finds the gateway, and its only word is the conversation.
  const isOfConversation = findsGateway(name)
  const isAlone = isOfConversation && args.gateway !== undefined && args.conversation === undefined
  const isOneOrAll = name === 'message-retry' && args.all === undefined
  const needed = isOfConversation ? required.filter((each) => each !== 'gateway') : required
  const wanted = isAlone ? needed.filter((each) => each !== 'conversation') : isOneOrAll ? ['id'] : needed
  const missing = wanted.filter((each) => args[each] === undefined && !isSecret(properties[each]))
  const [first] = missing
  if (first === undefined && name === 'gateway-send' && isToNobody(args)) return usage(TO_WHOM)
  if (first === undefined) return undefined
  const noun = spokenName(name).split(' ')[0] ?? ''
  const form = formOf(name, isOfConversation ? needed : places, properties, args)
  const words = inOrder(missing, places).map((each) => wordOf(each, noun))
  const found = await candidatesOf(name, first, daemon).catch(() => undefined)
  const list = CREATING.test(name) ? undefined : listFor(noun, first)
  const more = list === undefined ? '' : ` \`trivium ${list}\` lists them.`
  const hint = found ? candidatesText(found, wordOf(first, noun), list) : more
  return usage(`${sentence(words)} missing: ${form}.${hint}`)
}

const TO_WHOM =
  'To whom? `--message-id ID` answers a message: `trivium message list` and `trivium conversation show` have the ids. `--gateway NAME --to ADDRESS` writes to somebody.'

function isToNobody({ messageId, receipt, gateway, conversation, to }: JsonObject): boolean {
  return [messageId, receipt, gateway, conversation, to].every((each) => each === undefined)
}

/** The same for a command of its own, such as `skill show NAME`. Undefined if it is not found. */
export function missingPlace(
  program: Command,
  [noun = '', verb = '']: readonly string[],
): TriviumError | undefined {
  const group = program.commands.find((command) => command.name() === noun)
  const command = group?.commands.find((one) => one.name() === verb) ?? group
  const [place, ...others] = command?.registeredArguments ?? []
  if (!command || !place) return undefined
  const words = command === group ? [noun] : [noun, verb]
  const places = [place, ...others].filter(({ required }) => required).map((one) => one.name().toUpperCase())
  const list = verb === 'new' ? undefined : listFor(noun, place.name())
  const more =
    list === undefined
      ? ` \`trivium ${words.join(' ')} --help\` explains it.`
      : ` \`trivium ${list}\` lists them.`
  const form = `\`${['trivium', ...words, ...places].join(' ')}\``
  return usage(`${sentence([wordOf(place.name(), noun)])} missing: ${form}.${more}`)
}

/** Skills whose name or id is new. */
const CREATING = /-(create|set|add|save)$/

function inOrder(missing: readonly string[], places: readonly string[]): string[] {
  return missing.toSorted((one, other) => places.indexOf(one) - places.indexOf(other))
}

/** `The route is`, `The gateway and the secret are`. */
function sentence(words: readonly string[]): string {
  const list = new Intl.ListFormat('en-GB').format(words.map((word) => `the ${word}`))
  return `T${list.slice(1)} ${words.length === 1 ? 'is' : 'are'}`
}

/** Arguments whose names are not what people call them. */
const WORDS: Readonly<Record<string, string>> = {
  messageId: 'id of the message',
  queue: 'consumer group',
  approve: 'decision (--approve or --no-approve)',
  happened: 'outcome (--happened or --no-happened)',
  to: 'position (start or now)',
  who: 'name, address or identity',
  do: 'action (retry or drop)',
  url: 'URL',
}

function wordOf(argument: string, noun: string): string {
  const isOfNoun = argument === 'id' || argument === 'name'
  return WORDS[argument] ?? (isOfNoun ? `${argument} of the ${noun.replace('-', ' ')}` : argument)
}

/** `trivium route resume ROUTE`, in backticks, with the given arguments. Secrets are asked for. */
function formOf(
  name: string,
  places: readonly string[],
  properties: Schema['properties'],
  args: JsonObject,
): string {
  // `event replay` is called `group replay`, where the group comes first.
  const first = skillIn(spokenName(name).split(' '))?.first
  const inForm = first !== undefined && places.includes(first) ? [first, ...places] : places
  const words = [...new Set(inForm)]
    .filter((each) => !isSecret(properties[each]))
    .map((each) => {
      const given = args[each]
      if (typeof given === 'string') return shellWord(given)
      return properties[each]?.type === 'boolean' ? `--${each}` : placeOf(each)
    })
  return `\`${['trivium', spokenName(name), ...words].join(' ')}\``
}

function placeOf(argument: string): string {
  const places: Record<string, string> = {
    messageId: 'MESSAGE',
    queue: 'GROUP',
    do: 'ACTION',
    to: 'POSITION',
  }
  return places[argument] ?? argument.toUpperCase()
}

/** ` Paused: reviews, late.` Candidates with a text have lines of their own. */
function candidatesText({ about, names }: Candidates, word: string, list: string | undefined): string {
  const noun = word.replace(/^(id|name) of the /, '')
  if (names.length === 0) return about === undefined ? '' : ` No ${noun} is ${about}.`
  const title = about === undefined ? 'There are' : `${about.charAt(0).toUpperCase()}${about.slice(1)}`
  const left = names.length - MOST_NAMED
  const rest = left > 0 ? ` and ${left} more${list === undefined ? '' : `: \`trivium ${list}\``}` : ''
  const shown = names.slice(0, MOST_NAMED)
  if (shown.some((one) => one.includes(' ')))
    return ` ${title}:\n  ${[...shown, ...(rest ? [`…${rest}`] : [])].join('\n  ')}`
  return ` ${title}: ${shown.join(', ')}${rest}.`
}

/** The command that lists what an argument names. */
function listFor(noun: string, argument: string): string | undefined {
  if (argument === 'messageId') return 'message list'
  if (argument === 'topic' || argument === 'queue') return 'group list'
  if (argument === 'who') return 'person list'
  const isOfNoun = argument === 'id' || argument === 'name' || argument === 'key'
  const listed = isOfNoun ? noun : argument
  const hasList = NOUNS.includes(listed) && (listOf(listed) === 'list' || HAVE_LIST.includes(listed))
  return hasList ? `${listed} list` : undefined
}

/** Nouns whose list is a command of its own. */
const HAVE_LIST: readonly string[] = ['dead-letter', 'message', 'skill', 'route']

async function candidatesOf(name: string, argument: string, daemon: Daemon): Promise<Candidates | undefined> {
  if (!daemon.running) return undefined
  if (name.endsWith('-resume')) return paused(name.slice(0, -'-resume'.length), daemon)
  if (name === 'run-cancel')
    return messages(daemon, 'running,retrying,waiting,approval', 'running, retrying or waiting')
  if (name === 'message-retry') return messages(daemon, 'retrying')
  if (name === 'approval-decide') return argument === 'id' ? approvals(daemon) : undefined
  const key = `${name.split('-')[0]}.${argument}`
  const read = EXISTING[argument] ?? EXISTING[key]
  return read && !CREATING.test(name) ? { names: await read(daemon) } : undefined
}

/** Names of what exists, by the argument, or by the noun and the argument. */
const EXISTING: Readonly<Record<string, (daemon: Daemon) => Promise<string[]>>> = {
  gateway: async (daemon) => textsOf(await daemon.invoke('gateway-list', {}), 'name'),
  route: async (daemon) => {
    const routes = objectsIn(await daemon.invoke('route-list', {}))
    return routes.filter((route) => !isOfAssistant(route)).map((route) => String(route.name))
  },
  skill: async (daemon) =>
    objectsIn(await daemon.skills())
      .filter(({ kind, shipped }) => kind !== 'built-in' && kind !== 'prefix' && shipped !== true)
      .map((one) => String(one.name)),
  'subscription.name': async (daemon) => textsOf(await daemon.invoke('subscription-list', {}), 'name'),
  'schedule.id': async (daemon) => textsOf(await daemon.invoke('schedule-list', {}), 'id'),
  queue: async (daemon) => textsOf(await daemon.invoke('event-groups', {}), 'group'),
  topic: async (daemon) => [...new Set(textsOf(await daemon.invoke('event-groups', {}), 'topic'))],
}

async function paused(kind: string, daemon: Daemon): Promise<Candidates> {
  const pauses = objectsIn(await daemon.invoke('pause-list', {})).filter((pause) => pause.kind === kind)
  return { about: 'paused', names: pauses.map((pause) => String(pause.name)) }
}

async function messages(daemon: Daemon, outcome: string, about = outcome): Promise<Candidates> {
  const found = await daemon.invoke('message-search', { outcome, limit: MOST_MESSAGES })
  return {
    about,
    names: idsOf(pathGet(found, 'messages')),
  }
}

async function approvals(daemon: Daemon): Promise<Candidates> {
  const found = await daemon.invoke('approval-list', { status: 'pending' })
  return { about: 'pending', names: idsOf(found) }
}

/** `01a2…  Refund 64.50 EUR`. */
function idsOf(list: unknown): string[] {
  return objectsIn(list).map((one) => {
    const text = one.title ?? one.subject ?? one.summary ?? one.text
    return text === undefined ? String(one.id) : `${one.id}  ${shorten(String(text), LONGEST_TEXT)}`
  })
}

function textsOf(list: Json, key: string): string[] {
  return objectsIn(list).map((one) => String(one[key]))
}
