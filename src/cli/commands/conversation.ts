import { TriviumError } from '../../core/errors.ts'
import { isJsonObject, type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { builtInSkills } from '../../daemon/built-in-skills.ts'
import { printers } from '../../engine/print/gateways.ts'
import { senderText } from '../../engine/print/sender.ts'
import { defined } from '../../lib/defined.ts'
import { type Printable, withNotes } from '../../lib/printed.ts'
import { type AddCommand, usage } from '../command.ts'
import { ask, type Connection, connect } from '../connection.ts'
import { withGateway } from '../conversation-alone.ts'
import { listAlone, showDefault } from '../default-help.ts'
import { meaningOf } from '../grammar.ts'
import { commandOf } from '../skill-flags.ts'

/** How long (ms) an answer waits for its outcome. */
const SEND_WAIT = 10_000

/**
 * `trivium conversation answer CONVERSATION TEXT`. The other verbs are operations, and the noun alone
 * is `conversation list`.
 */
export const addConversation: AddCommand = (program, context) => {
  const conversation = program.command('conversation').description(meaningOf('conversation'))
  conversation
    .command('answer')
    .description('answers the newest message of a conversation by hand')
    .usage('[options] [gateway] <conversation> <text>')
    .argument(
      '<words...>',
      'the conversation, with its gateway before it if several have one with this id; then the text',
    )
    .action((words: string[]) =>
      ask(context, async (daemon) => answer(daemon, await placeIn(daemon, words)), humanAnswer, connect),
    )
  const list = builtInSkills.find(({ name }) => name === 'conversation-list')
  if (list) showDefault(conversation, commandOf(list).name('list'))
  listAlone(conversation)
}

type Answer = { gateway?: string; conversation: string; text: string }

/** The conversation and the text in the words of a line. */
async function placeIn(daemon: Connection, words: readonly string[]): Promise<Answer> {
  const [first = '', ...others] = words
  const [second, ...rest] = others
  if (second === undefined)
    throw usage('The text is missing: `trivium conversation answer CONVERSATION TEXT`.')
  const gateways = rest.length === 0 ? [] : objectsIn(await daemon.invoke('gateway-list', {}).catch(() => []))
  const isGateway = gateways.some(({ name }) => name === first)
  return isGateway
    ? { gateway: first, conversation: second, text: rest.join(' ') }
    : { conversation: first, text: others.join(' ') }
}

async function answer(daemon: Connection, { text, ...given }: Answer): Promise<Json> {
  const place: JsonObject = await withGateway('conversation-answer', given, daemon)
  const shown = await daemon.invoke('conversation-show', { ...place, limit: 1 })
  const newest = objectsIn(pathGet(shown, 'entries')).findLast(({ role }) => role === 'sender')
  if (!newest) throw new TriviumError('not_found', { path: `conversation ${place.conversation}`, hint: '' })
  const sent = await daemon.invoke('gateway-send', { messageId: newest.id ?? '', text, wait: SEND_WAIT })
  return isJsonObject(sent) ? { ...sent, ...defined({ answers: newest.from }) } : sent
}

/** The result of `gateway-send`, and whom it answers: `answers`, the sender of the message. */
function humanAnswer(answered: Json): Printable {
  const sent = printers['gateway-send']?.(answered, {}) ?? ''
  const who = senderText(pathGet(answered, 'answers'))
  return who === '' ? sent : withNotes(sent, `It answers ${who}.`)
}
