import { TriviumError } from '../core/errors.ts'
import { type JsonObject, objectsIn, pathGet } from '../core/json.ts'
import { commandText } from '../lib/command-text.ts'
import { usage } from './command.ts'
import type { Connection } from './connection.ts'
import { spokenName } from './grammar.ts'
import { fullId } from './short-ids.ts'

/** Number of gateways that may have a conversation with the same id. */
const MAX_GATEWAYS = 20

const NOTE = 'conversation-note'
/** Skills that take a conversation, and its gateway if several have one with this id. */
const OF_CONVERSATIONS: readonly string[] = [
  'conversation-show',
  'conversation-pause',
  'conversation-resume',
  'conversation-settle',
  NOTE,
]
/** Those of them, and the command `conversation answer`, whose gateway the daemon does not look up. */
const LOOKED_UP: readonly string[] = ['conversation-show', 'conversation-settle', NOTE, 'conversation-answer']

/** Whether a built-in skill needs a gateway that `withGateway` finds. */
export function findsGateway(name: string): boolean {
  return LOOKED_UP.includes(name)
}

/** The words of a command on a conversation, for its help; undefined for other skills. */
export function formOfConversation(name: string): readonly string[] | undefined {
  if (!OF_CONVERSATIONS.includes(name)) return undefined
  return ['[gateway]', '<conversation>', ...(name === NOTE ? ['<text>'] : [])]
}

/**
 * The arguments of `conversation show|pause|resume|settle|note` that are given as words: the gateway and
 * the conversation, in any order; before the text of a note, the gateway is first. Other words are
 * returned as they are, and so are words beside `named`, the arguments that are given with their flags.
 */
export async function conversationWords(
  name: string,
  words: readonly string[],
  named: JsonObject,
  daemon: Pick<Connection, 'invoke'>,
): Promise<{ args: JsonObject; words: readonly string[] }> {
  const [first = '', second = '', ...rest] = words
  const isNamed = named.gateway !== undefined || named.conversation !== undefined
  const isPlace = name === NOTE ? words.length >= 2 : words.length === 2
  if (!OF_CONVERSATIONS.includes(name) || !isPlace || isNamed) return { args: {}, words }
  const gateways = objectsIn(await daemon.invoke('gateway-list', {}).catch(() => []))
  const isGateway = (word: string) => gateways.some((gateway) => gateway.name === word)
  if (name === NOTE && named.text === undefined) {
    const isFirst = isGateway(first) && rest.length > 0
    if (!isFirst) return { args: { conversation: first, text: [second, ...rest].join(' ') }, words: [] }
    return { args: { gateway: first, conversation: second, text: rest.join(' ') }, words: [] }
  }
  const [gateway, conversation] = isGateway(second) && !isGateway(first) ? [second, first] : [first, second]
  return { args: { gateway, conversation }, words: [] }
}

/**
 * Makes `conversation show|settle|note|answer ID` work like `conversation resume ID`: a single word is
 * the conversation, and its gateway is looked up. To change something, the whole id is needed. Throws
 * `not_found`, and `usage` if several gateways have the conversation.
 */
export async function withGateway(
  name: string,
  args: JsonObject,
  daemon: Pick<Connection, 'invoke'>,
): Promise<JsonObject> {
  const { gateway: word, conversation: given, ...others } = args
  const isAlone = findsGateway(name) && (word === undefined) !== (given === undefined)
  if (!isAlone) return args
  const isChange = name !== 'conversation-show'
  const conversation = await fullId(daemon, String(given ?? word), 'conversation', { isChange })
  const found = await daemon.invoke('conversation-list', { conversation, limit: MAX_GATEWAYS })
  const gateways = objectsIn(pathGet(found, 'conversations')).map(({ gateway }) => String(gateway))
  const [gateway, ...more] = new Set(gateways)
  const text = name === NOTE || name === 'conversation-answer' ? ' TEXT' : ''
  const form = `\`trivium ${spokenName(name)} GATEWAY ID${text}\``
  if (gateway === undefined)
    throw new TriviumError('not_found', {
      path: `conversation ${conversation}`,
      hint: ` To find one: ${commandText('conversation list --search', conversation)}. With its gateway: ${form}`,
    })
  if (more.length === 0) return { ...others, gateway, conversation }
  throw usage(`${[gateway, ...more].join(', ')} have a conversation ${conversation}. Name one: ${form}`)
}
