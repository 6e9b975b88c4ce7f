import { shownAuthor } from '../../core/author.ts'
import { type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { whenText } from '../../core/readable.ts'
import { commandText } from '../../lib/command-text.ts'
import { factLines } from '../../lib/fact-lines.ts'
import { paint } from '../../lib/paint.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { shorten } from '../../lib/short-text.ts'

/** Maximum characters of the message that a reply answers. */
const LONGEST_TEXT = 60

/** What `dead-letter show` says of a reply that was not delivered: to whom, and its text. */
export function unsentReply(letter: JsonObject): string[] {
  const { data, message, mayAnswer } = letter
  const { to, cc, subject, text, by, queuedAt, attachments } = Object(data)
  const about: JsonObject = Object(message ?? mayAnswer)
  const facts: [string, string][] = [
    ['to', to === undefined ? personOf(about.from) : listed(to)],
    ['cc', listed(cc)],
    ['subject', String(subject ?? '')],
    ['written', queuedAt === undefined ? '' : `${whenText(queuedAt)}${authorText(by)}`],
    [message === undefined ? 'last message' : 'answers', messageText(about)],
    ['conversation', String(about.conversation ?? conversationOf(Object(data)))],
    [
      'files',
      objectsIn(attachments)
        .flatMap(({ name }) => name ?? [])
        .join(', '),
    ],
  ]
  const { gateway, conversation } = about
  const show = commandText('conversation show', gateway, conversation)
  return [
    '',
    paint('bold', 'The reply that was not delivered'),
    ...factLines(facts),
    '',
    String(text ?? '(no text)'),
    ...(conversation === undefined ? [] : ['', paragraph('', `Its conversation: ${show}`)]),
  ]
}

/** A reply keeps its address, so another one needs a new send. */
export function otherAddress({ group: gateway }: JsonObject): string {
  const send = commandText('gateway send', 'TEXT', '--gateway', gateway, '--to', 'ADDRESS')
  return `To write to another address: ${send}, if the gateway is \`open: true\`; then remove this one.`
}

/** The conversation of a reply. Empty for a send to an address, whose conversation is the address. */
export function conversationOf({ conversation, to }: JsonObject): string {
  return conversation === undefined || conversation === to ? '' : String(conversation)
}

function messageText({ id, subject, text }: JsonObject): string {
  if (id === undefined) return ''
  const [line = ''] = String(subject ?? text ?? '')
    .trim()
    .split('\n')
  return `${shorten(line, LONGEST_TEXT)} (${id})`.trimStart()
}

/** `Halldis Olsen <h.olsen@example.com>`; else the name, or the address. */
function personOf(from: unknown): string {
  const [name, address, id] = ['name', 'address', 'id'].map((key) => pathGet(from, key))
  const isMail = typeof address === 'string' && address.includes('@')
  return String((name !== undefined && isMail ? `${name} <${address}>` : (name ?? address ?? id)) ?? '')
}

function listed(addresses: unknown): string {
  return [addresses ?? []].flat().join(', ')
}

function authorText(by: unknown): string {
  return by === undefined ? '' : ` by ${shownAuthor(String(by))}`
}
