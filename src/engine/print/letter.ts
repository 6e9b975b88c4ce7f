import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { fields, secondOf, whenText } from '../../core/readable.ts'
import { bodyText } from '../../lib/body-text.ts'
import { commandText } from '../../lib/command-text.ts'
import { counted } from '../../lib/counted.ts'
import { factLines } from '../../lib/fact-lines.ts'
import { paint } from '../../lib/paint.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { table } from '../../lib/text-table.ts'
import { lastError, shortError } from './letter-causes.ts'
import { factsIn, recipientsOf } from './message-facts.ts'
import { otherAddress, unsentReply } from './unsent-reply.ts'

/**
 * `dead-letter-show`: why it is dead, the message or reply, every attempt, and what to do. If they
 * are known, `cause` is its entry in `dead-letter-groups`, and `shownMessage` the result of
 * `message-show`, which has what was delivered before.
 */
export function humanLetter(result: Json): string {
  const letter: JsonObject = Object(result)
  const { id, queue } = letter
  const isReply = queue === 'outbox'
  return [
    paragraph('', `${paint('bold', String(id))}  ${paint('red', 'dead')}`),
    '',
    ...factLines([...factsOf(letter), ...(isReply ? [] : messageFacts(letter))]),
    ...(isReply ? unsentReply(letter) : contentOf(letter)),
    '',
    table(['attempt', 'time', 'code', 'error'], attemptsOf(letter)),
    '',
    ...stepsOf(letter).map((line) => paragraph('', line)),
  ].join('\n')
}

function factsOf(letter: JsonObject): [title: string, text: string][] {
  const { queue, group, at, firstAt = at, retriedAt } = letter
  const skill = /^Skill (\S+) failed: /.exec(lastError(letter))?.[1]
  const place = PLACES[String(queue)] ?? `${queue}: `
  return [
    ['dead since', whenText(firstAt)],
    ['retried', retriedAt === undefined ? '' : `${whenText(retriedAt)}, failed again`],
    ['why', `${whyText(letter)}: ${shortError(lastError(letter))}`],
    ['failed in', `${place}${group}${skill === undefined ? '' : `, skill ${skill}`}`],
    ['same error', sameText(letter)],
    ['delivered', deliveredText(letter.shownMessage)],
  ]
}

/** The kinds of `group`, by queue. */
const PLACES: Readonly<Record<string, string>> = {
  dispatch: 'route ',
  outbox: 'gateway ',
  receive: 'gateway ',
}

/** `gave up after 4 attempts`. */
function whyText({ reason, errors, firstErrors = [] }: JsonObject): string {
  const count = objectsIn(errors ?? null).length + objectsIn(firstErrors).length
  if (reason === 'permanent') return 'the error is permanent, so it was not tried again'
  if (reason === 'ambiguous') return 'it is not known whether it was sent, so it was not sent again'
  return reason === 'attempts' ? `gave up after ${counted(count, 'attempt')}` : String(reason)
}

/** How many other dead letters have the same cause. */
function sameText({ cause }: JsonObject): string {
  if (cause === undefined) return ''
  const { count, first, last } = Object(cause)
  if (Number(count) <= 1) return 'no other dead letter has it'
  const others = counted(Number(count) - 1, 'other dead letter')
  return `${others}; all of them died between ${secondOf(first)} and ${secondOf(last)}`
}

/** What others got of the message before: groups that read it, pushes, and replies. */
function deliveredText(shown: Json | undefined): string {
  if (shown === undefined || shown === null) return ''
  const groups = objectsIn(pathGet(shown, 'events')).flatMap(({ group, state, push }) =>
    Object.hasOwn(DELIVERED, String(state)) && !(state === 'read' && push)
      ? [`${DELIVERED[String(state)]} ${group}`]
      : [],
  )
  const replies = objectsIn(pathGet(shown, 'history')).filter(
    ({ road, what }) => road === 'outbox' && what === 'sent',
  ).length
  const parts = [...groups, ...(replies === 0 ? [] : [`${counted(replies, 'reply', 'replies')} sent`])]
  return parts.length === 0 ? 'nothing yet' : parts.join(', ')
}

const DELIVERED: Readonly<Record<string, string>> = { delivered: 'to', read: 'read by' }

/** All attempts: those before a retry, and those since. */
function attemptsOf({ firstErrors = [], errors, retriedAt }: JsonObject): unknown[][] {
  const rows = (some: Json | undefined) =>
    objectsIn(some ?? null).map((error, index) => [
      index + 1,
      secondOf(error.at),
      error.code,
      shortError(String(error.message ?? '')),
    ])
  const before = rows(firstErrors)
  return before.length === 0
    ? rows(errors)
    : [...before, ['', secondOf(retriedAt), 'retried', ''], ...rows(errors)]
}

/** The facts of the message, as `message show` has them. */
function messageFacts({ id: letterId, message, lane }: JsonObject): [title: string, text: string][] {
  if (message === undefined) return [['lane', String(lane ?? '')]]
  const { receivedAt, id, gateway, transport, conversation, from, subject, key, data } = Object(message)
  const head = { gateway, conversation, from, ...recipientsOf({ transport }, data), subject, key }
  const own = id === letterId ? {} : { message: id }
  return [['received', whenText(receivedAt)], ...factsIn({ ...own, ...head })]
}

/** The text of the message; without a message, the data of the dead letter. */
function contentOf({ message, data }: JsonObject): string[] {
  if (message === undefined) return data === undefined ? [] : ['', fields({ data })]
  const text = String(pathGet(message, 'text') ?? '')
  return text === '' ? [] : ['', bodyText(text)]
}

/** The commands that repair or remove a dead letter, or all of its cause. */
function stepsOf(letter: JsonObject): string[] {
  const { id, queue, message, cause } = letter
  const { group, pattern, count } = Object(cause)
  const ofQueue = queue === 'dispatch' ? [] : ['--queue', queue]
  const all = commandText('dead-letter retry', '--all', ...ofQueue, '--route', group, '--pattern', pattern)
  return [
    `To retry it: ${commandText('dead-letter retry', id)}`,
    ...(Number(count) > 1 ? [`To retry all ${count}: ${all}`] : []),
    ...(queue === 'outbox' ? [otherAddress(letter)] : []),
    `To remove it: ${commandText('dead-letter drop', id)}`,
    ...(message === undefined ? [] : [`Its history: ${commandText('message show', pathGet(message, 'id'))}`]),
  ]
}
