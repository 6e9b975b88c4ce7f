import { shownAuthor } from '../../core/author.ts'
import { type JsonObject, objectsIn } from '../../core/json.ts'
import { messageState } from '../../engine/print/message-state.ts'
import { ageText } from '../../lib/age-text.ts'
import { commandText } from '../../lib/command-text.ts'
import { UNFINISHED } from '../../lib/outcomes.ts'
import { paint } from '../../lib/paint.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { age, isTerminal, shorten, shortId } from '../../lib/short-text.ts'

/** Maximum characters of a text, and of an answer, at a terminal. */
const LONGEST = { text: 200, answer: 150 }

/** What a person wrote, each with its answers, and the number of events of machines. */
export function textLines(person: JsonObject, who: readonly string[]): string[] {
  const { texts, wrote, events } = person
  const shown = objectsIn(wrote)
  const count = Number(texts)
  const lines = shown.flatMap((message) => ['', ...linesOf(message, who)]).slice(1)
  const limit = commandText('person show', ...who, '--limit', Math.min(count, 1_000))
  const title = shown.length < count ? `Wrote, the newest ${shown.length} of ${count}` : `Wrote`
  const head = shown.length === 0 ? [] : ['', paint('bold', title), ...lines]
  const more = shown.length < count ? [`  all: ${limit}`] : []
  return [...head, ...more, ...eventLines(Object(events), who)]
}

function eventLines({ count, gateways, newest }: JsonObject, who: readonly string[]): string[] {
  const [all, shown] = [Number(count), objectsIn(newest)]
  if (all === 0) return []
  const on = Object.entries(Object(gateways)).map(([gateway, many]) => `${many} on ${gateway}`)
  const limit = commandText('person show', ...who, '--limit', Math.min(all, 1_000))
  return [
    '',
    paragraph('', `${paint('bold', 'Events of machines')}: ${on.join(', ')}`),
    ...shown.map((event) => paragraph('  ', headOf(event, who, LONGEST.answer))),
    ...(shown.length < all ? [`  all: ${limit}`] : []),
  ]
}

/** The state of a message in the words of the list of people. */
export function stateWord(message: JsonObject): string {
  return message.outcome === 'dead' ? paint('red', 'failed') : messageState(message)
}

/** A text with its answers, and the command that shows it. */
function linesOf(message: JsonObject, who: readonly string[]): string[] {
  const { id, at, characters } = message
  const whole = characters === undefined ? '' : ` (${Number(characters).toLocaleString('en')} characters)`
  const said = `${headOf(message, who, LONGEST.text)}${whole}`
  const answers = objectsIn(message.answers).map((answer) => answerText(answer, Number(at)))
  const lines = answers.length > 0 ? answers : withoutAnswer(message)
  return [
    paragraph('  ', said),
    ...lines.map((line) => paragraph('  ↳ ', line)),
    `    ${commandText('message show', shortId(id))}`,
  ]
}

/** `3 min ago on shop: Where is my parcel?`; of several identities also which one wrote it. */
function headOf(message: JsonObject, who: readonly string[], width: number): string {
  const { at, gateway, outcome, from = null } = message
  const state = outcome === 'done' ? '' : `, ${stateWord(message)}`
  const { address, id } = Object(from)
  const by = who.length > 1 ? `, from ${address ?? id}` : ''
  return `${age(at)} ago on ${gateway}${by}${state}: ${oneLine(message, width)}`
}

/** `Your parcel left (sent after 3 s by route orders)`. */
function answerText({ at, by, text, state, error }: JsonObject, asked: number): string {
  const isSent = state === 'sent'
  const how = isSent ? `sent after ${ageText(Math.max(0, Number(at) - asked))}` : paint('red', wordOf(state))
  const why = !isSent && typeof error === 'string' ? `: ${shorten(error, LONGEST.answer)}` : ''
  const who = by === undefined ? '' : ` by ${shownAuthor(by)}`
  return `${oneLine({ text: text ?? '' }, LONGEST.answer)} (${how}${who}${why})`
}

function wordOf(state: unknown): string {
  return state === 'dead' ? 'not delivered' : String(state)
}

function withoutAnswer({ outcome, settled, answeredWith }: JsonObject): string[] {
  if (typeof answeredWith === 'string') return ['answered with a later message']
  if (settled !== undefined) {
    const { by, reason } = Object(settled)
    return [`no answer is needed, says ${shownAuthor(by)}${reason === undefined ? '' : `: ${reason}`}`]
  }
  // An unfinished message shows its outcome instead.
  return UNFINISHED.some((one) => one === outcome) ? [] : ['no answer']
}

/** The subject and the text of a message in one line; shortened at a terminal. */
function oneLine({ event, subject, summary, text }: JsonObject, width: number): string {
  const all = [event, subject, summary ?? text].filter((part) => part !== undefined && part !== '')
  return shorten(all.join(' · '), isTerminal() ? width : Number.POSITIVE_INFINITY)
}
