import { shownAuthor } from '../../../core/author.ts'
import { isJsonObject, type Json, type JsonObject, objectsIn, pathGet } from '../../../core/json.ts'
import { secondOf, whenText } from '../../../core/readable.ts'
import { ageText } from '../../../lib/age-text.ts'
import { type Answer, answersAfter } from '../../../lib/answers-after.ts'
import { argumentsIn } from '../../../lib/arguments-in-words.ts'
import { askerOf } from '../../../lib/asker.ts'
import { bodyText } from '../../../lib/body-text.ts'
import { commandText } from '../../../lib/command-text.ts'
import { durationText } from '../../../lib/duration-text.ts'
import { factLines } from '../../../lib/fact-lines.ts'
import { paint } from '../../../lib/paint.ts'
import { paragraph } from '../../../lib/paragraph.ts'
import { shorten } from '../../../lib/short-text.ts'
import { coloured, denialTarget, whenResumed } from './request-words.ts'

/** Lines of the message that led to a request; `message show` has all of them. */
const MAX_LINES = 20

/**
 * `approval-list` with an id: what the request asks for, its arguments, the message that led to it
 * (`shownMessage`: the result of `message-show`, if it is retained), and how to decide it. Of a
 * decided one: who decided, how the call ended, and what the sender was told.
 */
export function humanApproval(approval: JsonObject): string {
  const { id, title, args, status, message, decidedAt, shownMessage = null } = approval
  const entries = argumentsIn(args)
  const history = status === 'pending' ? [] : objectsIn(pathGet(shownMessage, 'history'))
  const answers = answersAfter(Number(decidedAt ?? approval.expiresAt ?? 0), history)
  return [
    paragraph('', `${paint('bold', String(title))}  ${coloured(String(status))}`),
    '',
    ...factLines([['request', String(id)], ...factsOf(approval, answers.length > 0)]),
    '',
    ...(entries.length === 0 ? ['It has no arguments.'] : argumentLines(entries)),
    ...messageLines(approval),
    ...answers.flatMap(answerLines),
    '',
    ...(status === 'pending' ? decisions(id) : []),
    ...(message === undefined
      ? []
      : [paragraph('', `Its history: ${commandText('message show', pathGet(message, 'id'))}`)]),
  ]
    .join('\n')
    .trimEnd()
}

function factsOf(approval: JsonObject, isAnswered: boolean): [title: string, text: string][] {
  const { skill, route, calledBy, by, requestedAt, message, approvers, decidedBy, decidedVia, decidedAt } =
    approval
  const { gateway, conversation } = Object(message)
  const via = decidedVia === undefined ? '' : ` (${decidedVia})`
  const who = Array.isArray(approvers) ? approvers.join(', ') : ''
  const { name, address } = askerOf(approval)
  const asker = name === undefined && address !== undefined ? address : shownAuthor(by)
  const caller = calledBy === undefined || calledBy === skill ? '' : `, called by ${calledBy}`
  return [
    ['asked by', `${name === undefined ? asker : `${name} (${asker})`}, ${whenText(requestedAt)}`],
    ['calls', `the skill ${skill}${caller}${route === undefined ? '' : `, on the route ${route}`}`],
    ['conversation', conversation === undefined ? '' : `${conversation} in ${gateway}`],
    ['request posted', postedText(approval.posted)],
    ['who decides', who === '' ? 'everybody who may decide approvals' : who],
    ['expires', endText(approval)],
    ['decided', decidedAt === undefined ? '' : `${deciderText(decidedBy)}${via}, ${whenText(decidedAt)}`],
    ['decision reason', String(approval.reason ?? '')],
    ['denial goes to', isAnswered ? '' : denialTarget(approval)],
    ['run', runText(approval)],
  ]
}

/** A request that timed out has no decider. */
function deciderText(by: Json | undefined): string {
  return by === undefined ? 'by its timeout' : `by ${shownAuthor(by)}`
}

/** The post in the conversation of the message, whose sender may have read it. */
function postedText(posted: Json | undefined): string {
  if (!isJsonObject(posted)) return ''
  const { at, state, error } = posted
  if (state === 'sent') return `in the conversation, ${whenText(at)}`
  return `not in the conversation: ${state} ${whenText(at)}${error === undefined ? '' : `: ${error}`}`
}

/** When a pending request ends, and how. */
function endText({ status, expiresAt, onTimeout }: JsonObject): string {
  if (status !== 'pending' || typeof expiresAt !== 'number') return ''
  const left = ageText(Math.max(0, expiresAt - Date.now()))
  return `${secondOf(expiresAt)} (in ${left}), then it is ${onTimeout === 'approve' ? 'approved' : 'denied'}`
}

/** Shorter runs (ms) do not need their duration. */
const SHORT_RUN = 100

/** What became of an approved call. */
export function runText({ status, run, pausedBy }: JsonObject): string {
  const waits = whenResumed(pausedBy)
  if (waits !== undefined) return waits
  if (run === undefined || run === null) return status === 'approved' ? 'has not ended' : ''
  const { at, ms, code, error, result } = Object(run)
  const took = typeof ms === 'number' && ms >= SHORT_RUN ? `, took ${durationText(ms)}` : ''
  const end = code === undefined ? paint('green', 'ran') : paint('red', `failed with ${code}`)
  const output = error ?? (typeof result === 'string' ? result : undefined)
  return `${end} ${whenText(at)}${took}${output === undefined ? '' : `: ${shorten(String(output), 200)}`}`
}

/** The arguments, their values below each other. A text of several lines is below its name. */
function argumentLines(entries: readonly [string, unknown][]): string[] {
  const texts = entries.map(([name, value]): [string, string] => [
    name,
    typeof value === 'string' ? value.trimEnd() : JSON.stringify(value),
  ])
  const short = texts.filter(([, text]) => !text.includes('\n'))
  const long = texts.filter(([, text]) => text.includes('\n'))
  return [...factLines(short), ...long.flatMap(([name, text]) => [name, ...indented(text)])]
}

function indented(text: string): string[] {
  return text.split('\n').map((line) => (line.trim() === '' ? '' : paragraph('  ', line)))
}

/** What the sender wrote. */
function messageLines({ message, shownMessage }: JsonObject): string[] {
  const { text, subject, receivedAt, from } = Object(pathGet(shownMessage ?? null, 'message'))
  if (message === undefined || receivedAt === undefined) return []
  const name = pathGet(from, 'name') ?? pathGet(from, 'address') ?? pathGet(from, 'id') ?? 'the sender'
  const whole = commandText('message show', pathGet(message, 'id'))
  const body = bodyText(String(text ?? '(no text)').trim(), MAX_LINES, whole)
  return [
    '',
    paragraph('', `${paint('bold', `The message of ${name}`)}, ${whenText(receivedAt)}`),
    ...(subject === undefined ? [] : [paragraph('  ', `Subject: ${subject}`)]),
    ...indented(body),
  ]
}

/** What the sender was told after the decision. */
export function answerLines({ at, state, text, error }: Answer): string[] {
  const isSent = state === 'sent'
  const title = isSent ? 'What the sender was told' : `What the sender was not told (${state})`
  return [
    '',
    paragraph('', `${isSent ? paint('bold', title) : paint('red', title)}, ${whenText(at)}`),
    ...(error === undefined ? [] : [paragraph('  ', `It was not delivered: ${error}`)]),
    ...indented(bodyText(String(text ?? '(no text)').trim(), MAX_LINES)),
  ]
}

function decisions(id: Json | undefined): string[] {
  const command = (decision: string) => commandText('approval decide', id, decision, '--reason', 'TEXT')
  return [
    paragraph('', `To approve it: ${command('--approve')}`),
    paragraph('', `To deny it:    ${command('--no-approve')}`),
  ]
}
