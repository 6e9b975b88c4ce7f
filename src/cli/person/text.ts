import { shownAuthor } from '../../core/author.ts'
import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { timeOf } from '../../core/readable.ts'
import { shortError } from '../../engine/print/letter-causes.ts'
import { commandText } from '../../lib/command-text.ts'
import { counted } from '../../lib/counted.ts'
import { factLines } from '../../lib/fact-lines.ts'
import { mentionsSearch, mentionsSentence } from '../../lib/mentions.ts'
import { paint } from '../../lib/paint.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { age, listText, shortId } from '../../lib/short-text.ts'
import { asGiven } from './find.ts'
import { stateWord, textLines } from './texts.ts'

/** Maximum number of open things, and characters of their texts. */
const MOST_SHOWN = 8
const LONGEST_TEXT = 60

/** `person show`: who it is, what is open with them, what they wrote, and the commands that follow. */
export function humanPerson(person: Json): string {
  const shown: JsonObject = Object(person)
  const who = [shown.identities].flat().map((identity) => asGiven(String(identity)))
  return [
    ...factLines(factsOf(shown, who)),
    ...alikeLines(shown, who),
    '',
    ...openLines(shown, who),
    ...pushLines(shown),
    ...mentionLines(shown),
    ...textLines(shown, who),
    '',
    ...factLines([
      ['messages', who.map((one) => commandOf('message list', one)).join(', ')],
      ['all that is stored', commandText('person count', ...who)],
      ['export it', commandText('person export', ...who)],
      ['erase it', `${commandText('person erase', ...who)} (only counts before --confirm)`],
    ]),
  ].join('\n')
}

function factsOf(person: JsonObject, who: readonly string[]): [title: string, text: string][] {
  const { names, messages, gateways, conversations, first, newest, searchedTo } = person
  const onEach = Object.entries(Object(gateways)).map(([gateway, many]) => `${many} on ${gateway}`)
  const count = Number(messages)
  const back = searchedTo === undefined ? '' : `, back to ${timeOf(searchedTo)}; older ones are not counted`
  return [
    [who.length === 1 ? 'identity' : 'identities', who.map(identityText).join(', ')],
    ['name', [names].flat().join(', ')],
    ['messages', count === 0 ? `none is stored${back}` : `${count} (${onEach.join(', ')})${back}`],
    [
      'conversations',
      count === 0
        ? ''
        : `${conversations}: ${who.map((one) => commandOf('conversation list', one, '--all')).join(', ')}`,
    ],
    ['first', first === undefined ? '' : timeOf(pathGet(first, 'at'))],
    ['newest', newest === undefined ? '' : newestText(Object(newest))],
  ]
}

function newestText({ at, gateway, id }: JsonObject): string {
  return `${timeOf(at)}, ${age(at)} ago on ${gateway}: ${commandText('message show', shortId(id))}`
}

function identityText(identity: string): string {
  return identity.includes('@') && !/^[\w.-]+:/.test(identity) ? `${identity} on every gateway` : identity
}

/** Others with the same name, who may be the same person. */
function alikeLines({ alike }: JsonObject, who: readonly string[]): string[] {
  const others = objectsIn(alike)
  if (others.length === 0) return []
  const all = others.map(({ identity }) => asGiven(String(identity)))
  const named = others
    .map(({ name }, at) => (name === undefined ? all[at] : `${all[at]} (${name})`))
    .join(', ')
  return [
    paragraph(
      '',
      paint(
        'yellow',
        `Also with this name: ${named}. If it is the same person: ${commandText('person show', ...who, ...all)}`,
      ),
    ),
  ]
}

/** Something open: what and since when, then the command that shows it. */
type Open = { title: string; text: string; command: string }

/** What is open, in the order of `person-open`. */
function openLines({ open, more }: JsonObject, who: readonly string[]): string[] {
  const all = objectsIn(open)
  const isCut = more === true
  if (all.length === 0)
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
    ...(isCut ? [paragraph('', 'Only the newest messages were searched: older ones may be open, too.')] : []),
  ]
}

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

/** The messages of others that name them, and how many of these wait or failed. */
function mentionLines({ mentions = null }: JsonObject): string[] {
  const { names, messages, done, searchedTo, open }: JsonObject = Object(mentions)
  if (!Array.isArray(names) || Number(messages) === 0) return []
  const known = { names: names.map(String), messages: Number(messages), done: done === true }
  const sentence = mentionsSentence({ ...known, searchedTo: Number(searchedTo) }, timeOf)
  const search = mentionsSearch(known.names, String(known.names[0]))
  const waits = Number(pathGet(open ?? null, 'count'))
  return [
    paragraph('', `${sentence} ${commandText('message list', '--search', search)}`),
    ...objectsIn(pathGet(open ?? null, 'newest')).map(
      (row) => `  ${stateWord(row)}, ${age(row.at)} old, on ${row.gateway}: ${textOf(row)}`,
    ),
  ].slice(0, waits > 0 ? undefined : 1)
}

/** What pushes have still to send of their messages. */
function pushLines({ pushes = null }: JsonObject): string[] {
  return objectsIn(pushes).map(({ name, count, replayed = 0, since, more }) => {
    const least = more === true ? 'at least ' : ''
    const again = Number(replayed)
    const fresh = Number(count) - again
    const many = `${least}${counted(fresh, 'message')}, for ${age(since)}. `
    const said = [
      fresh > 0 ? `Not delivered to ${name} yet: ${many}` : '',
      again > 0 ? `Sent again to ${name} by a replay: ${least}${counted(again, 'message')}. ` : '',
    ]
    return paragraph('', `${said.join('')}${commandText('subscription show', name)}`)
  })
}

function jobLine({ id, at }: JsonObject): Open {
  return {
    title: `an erasure of this person runs, for ${age(at)}`,
    text: '',
    command: commandText('job show', id),
  }
}

/** The command for a list of what is from an identity. */
function commandOf(command: string, identity: string, ...flags: string[]): string {
  const [, gateway, name = identity] = /^([\w.-]+):(.+)$/s.exec(identity) ?? []
  const filter = gateway === undefined ? [] : ['--gateway', gateway]
  return commandText(command, ...filter, '--sender', name.replace(/^external:/, ''), ...flags)
}
