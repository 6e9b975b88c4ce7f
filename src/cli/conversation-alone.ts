import { TriviumError } from '../core/errors.ts'
import { type JsonObject, objectsIn, pathGet } from '../core/json.ts'
import { commandText } from '../lib/command-text.ts'
import { usage } from './command.ts'
import type { Connection } from './connection.ts'
import { fullId } from './short-ids.ts'

/** Number of gateways that may have a conversation with the same id. */
const MAX_GATEWAYS = 20

/** Skills that take a conversation, and its gateway if several have one with this id. */
export const OF_CONVERSATIONS: readonly string[] = [
  'conversation-show',
  'conversation-pause',
  'conversation-resume',
  'conversation-settle',
]

/**
 * The arguments of `conversation show|pause|resume|settle` that are given as two words: the gateway and the
 * conversation, in any order. Other words are returned as they are, and so are words beside `named`,
 * the arguments that are given with their flags.
 */
export async function conversationWords(
  name: string,
  words: readonly string[],
  named: JsonObject,
  daemon: Pick<Connection, 'invoke'>,
): Promise<{ args: JsonObject; words: readonly string[] }> {
  const [first = '', second = ''] = words
  const isNamed = named.gateway !== undefined || named.conversation !== undefined
  if (!OF_CONVERSATIONS.includes(name) || words.length !== 2 || isNamed) return { args: {}, words }
  const gateways = objectsIn(await daemon.invoke('gateway-list', {}).catch(() => []))
  const isGateway = (word: string) => gateways.some((gateway) => gateway.name === word)
  const [gateway, conversation] = isGateway(second) && !isGateway(first) ? [second, first] : [first, second]
  return { args: { gateway, conversation }, words: [] }
}

/**
 * Makes `conversation show ID` work like `conversation resume ID`: a single word is the
 * conversation, and its gateway is looked up. Throws `not_found`, and `usage` if several gateways
 * have it.
 */
export async function withGateway(
  name: string,
  args: JsonObject,
  daemon: Pick<Connection, 'invoke'>,
): Promise<JsonObject> {
  const { gateway: word, conversation: given, ...others } = args
  const isAlone = name === 'conversation-show' && (word === undefined) !== (given === undefined)
  if (!isAlone) return args
  const conversation = await fullId(daemon, String(given ?? word), 'conversation')
  const found = await daemon.invoke('conversation-list', { conversation, limit: MAX_GATEWAYS })
  const gateways = objectsIn(pathGet(found, 'conversations')).map(({ gateway }) => String(gateway))
  const [gateway, ...more] = new Set(gateways)
  const form = '`trivium conversation show GATEWAY ID`'
  if (gateway === undefined)
    throw new TriviumError('not_found', {
      path: `conversation ${conversation}`,
      hint: ` To find one: ${commandText('conversation list --search', conversation)}. With its gateway: ${form}`,
    })
  if (more.length === 0) return { ...others, gateway, conversation }
  throw usage(`${[gateway, ...more].join(', ')} have a conversation ${conversation}. Name one: ${form}`)
}
