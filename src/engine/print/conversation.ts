import { shownAuthor } from '../../core/author.ts'
import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { secondOf, timeOf } from '../../core/readable.ts'
import { ageText } from '../../lib/age-text.ts'
import { commandText } from '../../lib/command-text.ts'
import { commandAgain } from '../../lib/flag-words.ts'
import { paint } from '../../lib/paint.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { age, shortId } from '../../lib/short-text.ts'
import { whyWaits } from '../../lib/why-waits.ts'
import { shortError } from './letter-causes.ts'
import { messageState } from './message-state.ts'
import { senderText } from './sender.ts'

/**
 * `conversation-show`: whose turn it is and who has the conversation, then the messages, replies
 * and notes, oldest first. `attempt` of a message and `skill` of a reply are shown if they were asked
 * for.
 */
export function humanConversation(found: Json, args: JsonObject = {}): string {
  const { gateway, conversation } = args
  const entries = objectsIn(pathGet(found, 'entries'))
  const next = pathGet(found, 'next')
  if (entries.length === 0) return 'No messages.'
  const lastMessage = entries.findLast(({ role }) => role === 'sender')
  return [
    ...(conversation === undefined
      ? []
      : [paragraph('', `${paint('bold', String(conversation))}  in ${gateway}`)]),
    ...turnOf(Object(found), lastMessage),
    '',
    ...(next === undefined
      ? []
      : [`Older ones: ${commandAgain('conversation show', args, { before: shortId(next) })}`]),
    ...withNotes(entries, found).flatMap((entry, at, all) => linesOf(entry, all.slice(0, at))),
    ...nextSteps(Object(found), lastMessage),
  ].join('\n')
}

/** The messages and replies with the notes of operators and who took over, by time. */
function withNotes(entries: readonly JsonObject[], found: Json): JsonObject[] {
  const notes = objectsIn(pathGet(found, 'notes')).map((note): JsonObject => ({ ...note, role: 'note' }))
  const handovers = objectsIn(pathGet(found, 'handovers')).flatMap(handoverSteps)
  return [...entries, ...notes, ...handovers].sort((a, b) => Number(a.at) - Number(b.at))
}

/** The begin of a take-over and, once it is over, its end. */
function handoverSteps(handover: JsonObject): JsonObject[] {
  const { endedAt, endedBy } = handover
  const begin = { ...handover, role: 'taken over' }
  return endedAt === undefined
    ? [begin]
    : [begin, { role: 'handed back', at: endedAt, ...(endedBy !== undefined && { by: endedBy }) }]
}

/** Whose turn it is, and who has taken over. */
function turnOf(
  { waitingSince, reply, undelivered, settled, heldBy, unanswerable, unreachable }: JsonObject,
  lastMessage: JsonObject | undefined,
): string[] {
  const { by, since, reason, until } = Object(heldBy)
  const end = until === undefined ? '' : `, until ${timeOf(until)}`
  const why = reason === undefined ? '' : `: ${reason}`
  const holder = heldBy === undefined ? [] : [`${shownAuthor(by)} has it since ${timeOf(since)}${end}${why}.`]
  const who = senderText(lastMessage?.from)
  const { by: author, at } = Object(reply)
  const answered = `Answered${author === undefined ? '' : ` by ${shownAuthor(author)}`} ${age(at)} ago.`
  const reasonToWait = heldBy === undefined ? whyWaits(lastMessage?.outcome) : ''
  const turn = [
    ...(undelivered === undefined ? [] : [paint('red', notDelivered(Object(undelivered)))]),
    ...(waitingSince === undefined
      ? []
      : [
          paint(
            'yellow',
            `${who} has waited for an answer for ${age(waitingSince)}. ${reasonToWait}`.trimEnd(),
          ),
        ]),
    ...(waitingSince === undefined && reply !== undefined ? [answered] : []),
    ...(settled === undefined ? [] : [settledBy(Object(settled))]),
    ...(unanswerable === undefined ? [] : [`It cannot be answered: ${unanswerable}.`]),
    ...(unreachable === undefined ? [] : [`Another answer would fail too: ${unreachable}.`]),
  ]
  return [...holder, ...turn].map((line) => paragraph('', line))
}

/** `Settled by Ada 2 h ago: she was told by phone.` */
function settledBy({ by, at, reason }: JsonObject): string {
  return `Settled by ${shownAuthor(by)} ${age(at)} ago${reason === undefined ? '' : `: ${reason}`}.`
}

/** `The answer of Ada was not delivered 6 h ago: mailbox does not exist.` */
function notDelivered({ by, at, error }: JsonObject): string {
  const author = by === undefined ? '' : ` of ${shownAuthor(by)}`
  const why = error === undefined ? '' : `: ${shortError(String(error)).replace(/[.\s]+$/, '')}`
  return `The answer${author} was not delivered ${age(at)} ago${why}.`
}

function linesOf(entry: JsonObject, before: readonly JsonObject[]): string[] {
  const { role, at, id, text, summary } = entry
  if (entry.approval !== undefined) return requestLines(entry)
  if (role === 'note') return noteLines(entry)
  if (role === 'taken over' || role === 'handed back') return [paragraph('', handoverLine(entry))]
  const head =
    role === 'sender'
      ? `← ${senderText(entry.from)}  ${messageState(entry)}  ${shortId(id)}`
      : `→ ${authorOf(entry)}${replyState(entry)}`
  const isData = summary !== undefined && /^\s*[[{]/.test(String(text))
  const said = String(isData ? summary : (text ?? ''))
  const content = [subjectLine(entry, before), said.trimEnd()].filter((part) => part !== '').join('\n')
  const lines = content.split('\n').map((line) => (line.trim() === '' ? '' : paragraph('    ', line)))
  return [paragraph('', `${secondOf(at)}  ${head}`), ...lines]
}

/** A note, with the id by which it can be deleted. */
function noteLines({ at, by, id, text }: JsonObject): string[] {
  const head = `${secondOf(at)}  # note of ${shownAuthor(by)}, only for colleagues  ${id}`
  const lines = String(text).split('\n')
  return [paragraph('', paint('yellow', head)), ...lines.map((line) => paragraph('    ', line))]
}

/** `taken over by Ada, until 2026-11-30 09:31:00 UTC: I call her`, or `handed back by Ada`. */
function handoverLine({ role, at, by, until, reason }: JsonObject): string {
  if (role === 'handed back')
    return `${secondOf(at)}  · ${by === undefined ? 'the take-over ended by itself' : `handed back by ${shownAuthor(by)}`}`
  const end = until === undefined ? '' : `, until ${secondOf(until)}`
  const why = reason === undefined ? '' : `: ${reason}`
  return `${secondOf(at)}  · taken over by ${shownAuthor(by)}${end}${why}`
}

/** A request for an approval, which is no reply: its first line, and the decision. */
function requestLines({ at, approval, text, decision }: JsonObject): string[] {
  const title = String(text ?? '').split('\n')[0]
  const head = paragraph('', `${secondOf(at)}  · asks for approval ${approval}: ${title}`)
  return [head, paragraph('    ', decision === undefined ? 'Not decided yet.' : decidedIn(Object(decision)))]
}

/** `Denied by Ada, 2026-11-29 16:41:00 UTC: too late`. */
function decidedIn({ status, at, by, reason }: JsonObject): string {
  const word = String(status)
  const who = by === undefined ? ', as nobody decided in time' : ` by ${shownAuthor(by)}`
  const why = reason === undefined ? '' : `: ${reason}`
  return `${word.charAt(0).toUpperCase()}${word.slice(1)}${who}, ${secondOf(at)}${why}`
}

/** `Ada`, or `route site-chat (skill concierge)`. */
function authorOf({ by, skill }: JsonObject): string {
  if (by === undefined) return skill === undefined ? 'reply' : String(skill)
  return skill === undefined ? shownAuthor(by) : `${shownAuthor(by)} (skill ${skill})`
}

/**
 * The recipient of a reply, if it is not the sender, and when a later attempt sent it; of an unsent
 * reply, its state and why.
 */
function replyState({ state, error, to, nextAt, sentAt }: JsonObject): string {
  const later = sentAt === undefined ? '' : `  sent ${secondOf(sentAt)}`
  const whom = `${to === undefined ? '' : ` to ${to}`}${later}`
  if (state === undefined || state === 'sent') return whom
  const why = error === undefined ? '' : `: ${shortError(String(error))}`
  const left = typeof nextAt === 'number' ? nextAt - Date.now() : 0
  const again = left > 0 ? `; again in ${ageText(left)}` : ''
  return `${whom}  ${paint('red', `${state === 'dead' ? 'not delivered' : state}${why}${again}`)}`
}

/** The subject, unless the sender's last message has the same one. */
function subjectLine({ role, subject }: JsonObject, before: readonly JsonObject[]): string {
  if (typeof subject !== 'string') return ''
  const last = before.findLast((entry) => entry.role === 'sender')?.subject
  return role === 'sender' && bare(subject) === bare(String(last ?? '')) ? '' : `Subject: ${subject}`
}

/** A subject without `Re:`, `Fwd:` and the like. */
function bare(subject: string): string {
  return subject.replace(/^(\s*(re|aw|sv|fwd?|wg):)+\s*/i, '')
}

function nextSteps(
  { waitingSince, undelivered, heldBy, unreachable, unanswerable }: JsonObject,
  lastMessage: JsonObject | undefined,
): string[] {
  const step = (command: string, what: string) => paragraph('  → ', `${command} ${what}`)
  const { conversation, id, transport } = lastMessage ?? {}
  const letter = pathGet(undelivered ?? null, 'letter')
  const steps = [
    ...(letter === undefined ? [] : [step(commandText('dead-letter show', letter), 'shows why it failed.')]),
    ...(undelivered === undefined || transport !== 'email'
      ? []
      : [
          step(
            commandText('gateway send', 'TEXT', '--message-id', id, '--to', 'ADDRESS'),
            'answers at another address, if the gateway is `open: true`.',
          ),
        ]),
    ...(unanswerable !== undefined || unreachable !== undefined || id === undefined
      ? []
      : [step(commandText('conversation answer', conversation, 'TEXT'), 'answers by hand.')]),
    ...(heldBy === undefined
      ? []
      : [step(commandText('conversation hand back', conversation), 'hands it back.')]),
    ...(heldBy !== undefined || waitingSince === undefined || unanswerable !== undefined
      ? []
      : [step(commandText('conversation take over', conversation), 'keeps skills from answering.')]),
  ]
  return steps.length === 0 ? [] : ['', ...steps]
}
