import { z } from 'zod'
import { shownAuthor } from '../../core/author.ts'
import { type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { timeOf } from '../../core/readable.ts'
import { shortError } from '../../engine/print/letter-causes.ts'
import { commandText } from '../../lib/command-text.ts'
import { paint } from '../../lib/paint.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { age, listText, shortId } from '../../lib/short-text.ts'
import { waitingPushTexts, whyPushWaits } from '../../lib/waiting-push-text.ts'
import { stateWord } from './texts.ts'

/** Maximum number of open things, and characters of their texts. */
const MOST_SHOWN = 8
const LONGEST_TEXT = 60

/** Something open: what and since when, then the command that shows it. */
type Open = { title: string; text: string; command: string }

/**
 * What is open, in the order of `person-open`, then messages of others about them, and what pushes have
 * still to send.
 */
export function openLines(person: JsonObject, who: readonly string[]): string[] {
  const { open, more, mentions = null, pushes = null } = person
  const all = objectsIn(open)
  const isCut = more === true
  const rest = [...ofOthers(Object(Object(mentions).open)), ...objectsIn(pushes).map(pushLine)]
  if (all.length + rest.length === 0)
    return [
      paragraph(
        '',
        `Nothing is open: no message waits or failed, and nobody waits for an answer or an approval${isCut ? ', among the newest messages' : ''}.`,
      ),
    ]
  const others = all.length - MOST_SHOWN
  return [
    paint('bold', 'Open'),
    ...all.slice(0, MOST_SHOWN).flatMap((thing) => linesOf(openOf(thing), noteLines(thing))),
    ...(others > 0 ? [`  … and ${others} more: ${commandText('person open', ...who)}`] : []),
    ...rest.flatMap((thing) => linesOf(thing, [])),
    ...(isCut ? [paragraph('', 'Only the newest messages were searched: older ones may be open, too.')] : []),
  ]
}

/** Messages of others that name them and wait or failed, such as a call about them. */
function ofOthers({ newest = null }: JsonObject): Open[] {
  return objectsIn(newest).map((row) => {
    const { name, address, id } = Object(row.from)
    const { title, ...rest } = messageLine(row)
    return { ...rest, title: `${title}, sent by ${name ?? address ?? id}` }
  })
}

/** What a push has still to send of their messages, and why it does not. */
function pushLine(push: JsonObject): Open {
  const waits = infoSchema.parse(push)
  const { said, kind, why } = whyPushWaits(waits)
  const state = paint(kind === 'bad' ? 'red' : 'yellow', said)
  const reason = why === undefined ? '' : `: ${why}`
  return {
    title: `${waitingPushTexts(waits).join(', ')}, for ${age(push.since)}`,
    text: waits.state === undefined ? '' : `the push is ${state}${reason}`,
    command: commandText('subscription show', waits.name),
  }
}

const infoSchema = z.looseObject({
  name: z.string(),
  count: z.number(),
  replayed: z.number().exactOptional(),
  more: z.boolean().exactOptional(),
  state: z.string().exactOptional(),
  reason: z.string().exactOptional(),
})

function openOf(thing: JsonObject): Open {
  return (KINDS[String(thing.kind)] ?? letterLine)(thing)
}

const KINDS: Readonly<Record<string, (thing: JsonObject) => Open>> = {
  message: messageLine,
  conversation: (talk) => (talk.undelivered === undefined ? talkLine(talk) : undeliveredLine(talk)),
  approval: approvalLine,
  send: sendLine,
  mail: mailLine,
  job: jobLine,
}

function linesOf({ title, text, command }: Open, notes: readonly string[]): string[] {
  return [paragraph('  ', `${title}${text === '' ? '' : `: ${text}`}`), ...notes, `    ${command}`]
}

/** What colleagues noted in the conversation of an open thing. */
function noteLines({ notes }: JsonObject): string[] {
  return objectsIn(notes ?? []).map(({ at, by, text }) =>
    paragraph(
      '    ',
      paint('yellow', `note of ${shownAuthor(by)}, ${age(at)} ago: ${String(text).replace(/\s+/g, ' ')}`),
    ),
  )
}

function textOf({ subject, summary, text }: JsonObject): string {
  return listText(String(subject ?? summary ?? text ?? ''), LONGEST_TEXT)
}

function messageLine(message: JsonObject): Open {
  const { id, at, gateway, outcome, attempt } = message
  const error = message.error ?? pathGet(attempt ?? null, 'error')
  const why = typeof error === 'string' ? ` (${shortError(error)})` : ''
  const command = outcome === 'dead' ? 'dead-letter show' : 'message show'
  return {
    title: `${stateWord(message)}, ${age(at)} old, on ${gateway}`,
    text: `${textOf(message)}${why}`,
    command: commandText(command, shortId(id)),
  }
}

function letterLine(letter: JsonObject): Open {
  const { id, at, queue, title, error } = letter
  const what = queue === 'outbox' ? 'reply not delivered' : `event not delivered to ${String(queue)}`
  return {
    title: `${paint('red', what)}, ${age(at)} ago`,
    text: typeof error === 'string' ? shortError(error) : String(title ?? ''),
    command: commandText('dead-letter show', shortId(id)),
  }
}

function undeliveredLine(talk: JsonObject): Open {
  const { at, error } = Object(talk.undelivered)
  return {
    title: `${paint('red', 'answer not delivered')}, ${age(at)} ago, on ${talk.gateway}`,
    text: typeof error === 'string' ? shortError(error) : '',
    command: commandText('conversation show', talk.gateway, talk.conversation),
  }
}

function talkLine(talk: JsonObject): Open {
  const { heldBy, waitingSince, gateway, conversation, newest } = talk
  const { failed, error } = Object(newest)
  const failure =
    failed === true
      ? [`${paint('red', 'failed')}${typeof error === 'string' ? ` (${shortError(error)})` : ''}`]
      : []
  const { by, since, reason } = Object(heldBy)
  const why = reason === undefined ? '' : `: ${reason}`
  const waits = waitingSince === undefined ? '' : `has waited for an answer for ${age(waitingSince)}`
  const held = heldBy === undefined ? '' : `${shownAuthor(by)} has taken over ${age(since)} ago${why}`
  return {
    title: `${[...failure, waits, held].filter(Boolean).join('; ')}, on ${gateway}`,
    text: textOf(talk),
    command: commandText('conversation show', gateway, conversation),
  }
}

function approvalLine({ id, title, skill, at, gateway }: JsonObject): Open {
  const where = gateway === undefined ? '' : `, on ${gateway}`
  return {
    title: `${paint('yellow', 'needs an approval')}, ${age(at)} old${where}`,
    text: String(title ?? skill),
    command: commandText('approval show', id),
  }
}

function sendLine({ id, due, gateway, title }: JsonObject): Open {
  return {
    title: `planned message, ${timeOf(due)}, on ${gateway}`,
    text: listText(String(title ?? ''), LONGEST_TEXT),
    command: commandText('send cancel', id),
  }
}

function mailLine({ at, gateway, title }: JsonObject): Open {
  return {
    title: `message not sent yet, ${age(at)} old, on ${gateway}`,
    text: listText(String(title ?? ''), LONGEST_TEXT),
    command: commandText('gateway show', gateway),
  }
}

function jobLine({ id, at }: JsonObject): Open {
  return {
    title: `an erasure of this person runs, for ${age(at)}`,
    text: '',
    command: commandText('job show', id),
  }
}
