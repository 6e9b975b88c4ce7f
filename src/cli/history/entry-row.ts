import { NOTIFIER, shownAuthor } from '../../core/author.ts'
import { objectAt } from '../../core/json.ts'
import { shortError } from '../../engine/print/letter-causes.ts'
import { messageState } from '../../engine/print/message-state.ts'
import { headOf } from '../../lib/head-of.ts'
import { paint } from '../../lib/paint.ts'
import { shorten, shortId } from '../../lib/short-text.ts'
import { type Entry, isAnswer, isDecision } from './entry.ts'
import type { Row, Titles } from './lines.ts'

/** Maximum characters of a text. */
const MAX_TEXT = 2_000
/** Maximum characters of a conversation; of a longer one, the end, which commands take. */
const MAX_CONVERSATION = 16

export const ENTRY_TITLES: Titles = {
  cells: ['id', 'who', 'gateway', 'conversation'],
  fields: ['id', 'role', 'who', 'gateway', 'conversation', 'state', 'subject', 'text'],
}

/** An entry of the transcript. An answer has the id of the message that it answers. */
export function entryRow(entry: Entry): Row {
  const { time, channel, content, role, meta } = entry
  const request = requestIn(entry)
  const id = String((isAnswer(entry) || isDecision(entry) ? meta.inReplyTo : meta.messageId) ?? '')
  const text = request ?? headOf(String(content ?? ''), MAX_TEXT).trimEnd()
  const state = stateOf(entry)
  const subject = request === undefined ? String(meta.subject ?? '') : ''
  const shown = [
    ...(state === '' ? [] : [paint(meta.state === 'dead' ? 'red' : 'yellow', state)]),
    ...(subject === '' ? [] : [`Subject: ${subject}`]),
    ...text.split('\n'),
  ]
  const who = whoOf(entry)
  return {
    time,
    cells: [
      id === '' ? '' : shortId(id),
      who,
      String(channel ?? ''),
      shortConversation(String(meta.conversation ?? '')),
    ],
    fields: [
      id,
      String(role ?? ''),
      who,
      String(channel ?? ''),
      String(meta.conversation ?? ''),
      state,
      subject,
      text,
    ],
    mark: isDecision(entry) ? '·' : isAnswer(entry) ? '→' : '←',
    lines: shown,
  }
}

/** The sender; of an answer, its skill or the person who wrote it. */
function whoOf(entry: Entry): string {
  const { from, name, skill, by, to } = entry.meta
  if (isDecision(entry)) return by === undefined ? 'its timeout' : shownAuthor(by)
  if (!isAnswer(entry)) return String(name ?? from ?? '-')
  if (requestIn(entry) !== undefined || by === NOTIFIER) return 'Trivium'
  if (typeof skill === 'string') return skill
  if (typeof by === 'string' && !by.startsWith('route ')) return shownAuthor(by)
  return by === undefined ? (to === undefined ? '-' : 'Trivium') : String(by)
}

/** What a message that no skill has taken waits for, and why an answer was not delivered. */
function stateOf({ meta }: Entry): string {
  if (meta.state === 'dead')
    return `not delivered${meta.error === undefined ? '' : `: ${shortError(String(meta.error))}`}`
  if (meta.outcome === undefined) return ''
  const attempt = objectAt(meta, 'attempt')
  return plain(messageState({ outcome: meta.outcome, attempt }))
}

function plain(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with Escape.
  return text.replaceAll(/\u001b\[\d+m/g, '')
}

/** `mail-12`, or the end of a long id. An address begins with what tells it from others. */
function shortConversation(id: string): string {
  if (id.length <= MAX_CONVERSATION) return id
  return id.includes('@') ? shorten(id, MAX_CONVERSATION) : `…${id.slice(1 - MAX_CONVERSATION)}`
}

/** `asks for approval 0c0702d99b97e4b7: Refund 12 EUR`, of the post about a request. */
function requestIn(entry: Entry): string | undefined {
  if (isDecision(entry)) return undefined
  const { content, meta } = entry
  const text = String(content ?? '')
  const id = meta.approval ?? /trivium approval decide --id (\w+) --approve/.exec(text)?.[1]
  if (id === undefined) return undefined
  const title = (text.split('\n')[0] ?? '').replace(/^\*\*(.*)\*\*$/, '$1').replace(/^Approval needed: /, '')
  return `asks for approval ${id}: ${title}`
}
