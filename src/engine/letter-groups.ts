import { textAt } from '../core/json.ts'
import { isTest } from '../core/message.ts'
import { eventOf } from '../core/message-query.ts'
import type { DeadLetter } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { patternOf, sharedParts, VARYING } from '../lib/error-pattern.ts'
import { headOf } from '../lib/head-of.ts'
import { summaryOf } from '../lib/summary-of.ts'
import { DISPATCH_QUEUE } from './dispatch-queue.ts'
import { createSenders, type WaitingPeople, type WaitingSender, waitingPeople } from './letter-people.ts'
import { messageSummary } from './message-summary.ts'
import { OUTBOX_QUEUE } from './outbox.ts'

/** Maximum characters of the texts of a group. */
const SHOWN = 200
/** Maximum number of recipients of a group. */
const MOST_RECIPIENTS = 20
/** Maximum number of events of a group. */
const MOST_EVENTS = 20

/** Dead letters with the same queue, route and error. */
export type LetterGroup = {
  queue: string
  group: string
  code: string
  /** The first 200 characters of the error, with `#` for its numbers and ids. */
  pattern: string
  /** The newest error, cut to 200 characters. */
  error: string
  /** The newest error, with `…` for the numbers and ids that differ between the letters. */
  common: string
  /** Whether all letters have exactly the same error. */
  alike: boolean
  count: number
  /** Number of letters whose message is a test. */
  tests?: number
  /** When the first of the letters died, before any retry. */
  first: number
  /** When the first attempt of the letters failed. */
  failingSince: number
  /** When the newest letter died, possibly after a retry. */
  last: number
  /** When the last of the letters first died: a retry that fails again is not another failure. */
  lastNew: number
  /** When the letter that failed last was retried, if it was. */
  retriedAt?: number
  /** When the first of the messages arrived; a retry does not change it. */
  oldest: number
  /** The id of the newest letter. */
  newest: string
  /** The beginning of the newest letter's text. */
  sample: string
  /** The recipients of unsent replies, newest first, up to 20. */
  recipients?: string[]
  /** The id of the newest message, if it is a letter of dispatch. */
  messageId: string | undefined
  /** Number of different senders of the messages, up to 1,000. */
  senders?: number
  /** The people who wait because of it. */
  waits?: WaitingPeople
  /** The events of the messages, newest first, up to 20. */
  events?: string[]
}

/** A group that gets further letters. */
type Open = LetterGroup & {
  newestError: string
  parts: readonly string[]
  from: ReturnType<typeof createSenders>
  named: Set<string>
}

type Letters = AsyncIterable<DeadLetter> | Iterable<DeadLetter>

/**
 * Counts dead letters by queue, route and error, most frequent first. For equal counts, letters of
 * people come before machine events. Expects the letters newest first.
 */
export async function countGroups(letters: Letters): Promise<LetterGroup[]> {
  return (await countCauses(letters)).map(({ waiting: _, ...group }) => group)
}

/** The same, with all people who wait, up to 1,000 of each. */
export async function countCauses(
  letters: Letters,
): Promise<(LetterGroup & { waiting: readonly WaitingSender[] })[]> {
  const groups = new Map<string, Open>()
  for await (const letter of letters) {
    const { code, message: error } = lastOf(letter)
    const { queue, group } = letter
    const key = keyOfGroup({ queue, group, code, pattern: patternOf(error) })
    const known = groups.get(key)
    const open = known ? addTo(known, letter) : openedBy(letter)
    if (!known) groups.set(key, open)
    if (letter.message) open.from.add(letter.message)
    const event = letter.message && eventOf(letter.message)
    if (event !== undefined && open.named.size < MOST_EVENTS) open.named.add(event)
  }
  return [...groups.values()]
    .map(({ parts, newestError: _, from, named, ...group }) => ({
      ...group,
      common: headOf(parts.join(''), SHOWN),
      ...(from.count() > 0 && { senders: from.count() }),
      ...defined({ waits: waitingPeople([from.people()]) }),
      ...(named.size > 0 && { events: [...named] }),
      waiting: from.people(),
    }))
    .sort((a, b) => b.count - a.count || Number(isOfPeople(b)) - Number(isOfPeople(a)))
}

/** Whether a person waits for the answer. Machines that send events do not. */
function isOfPeople({ senders = 0, events = [], recipients = [] }: Partial<LetterGroup>): boolean {
  return recipients.length > 0 || (senders > 0 && events.length === 0)
}

/** Identifies a group. */
export function keyOfGroup({
  queue,
  group,
  code,
  pattern,
}: Pick<LetterGroup, 'queue' | 'group' | 'code' | 'pattern'>): string {
  return JSON.stringify([queue, group, code, pattern])
}

/** A group with its newest letter. */
function openedBy(letter: DeadLetter): Open {
  const { id, queue, group, at } = letter
  const { code, message: error } = lastOf(letter)
  const recipient = recipientOf(letter)
  return {
    queue,
    group,
    code,
    pattern: patternOf(error),
    error: headOf(error, SHOWN),
    newestError: error,
    common: '',
    parts: error.split(VARYING),
    alike: true,
    count: 1,
    ...(isOfTest(letter) && { tests: 1 }),
    first: firstDeathOf(letter),
    failingSince: firstFailureOf(letter),
    last: at,
    lastNew: firstDeathOf(letter),
    ...defined({ retriedAt: letter.retriedAt }),
    oldest: arrivalOf(letter),
    newest: id,
    sample: headOf(textOf(letter), SHOWN),
    ...(recipient !== undefined && { recipients: [recipient] }),
    messageId: messageIdOf(letter),
    from: createSenders(),
    named: new Set(),
  }
}

/** Adds an older letter. */
function addTo(group: Open, letter: DeadLetter): Open {
  const { message: error } = lastOf(letter)
  group.count++
  group.first = Math.min(group.first, firstDeathOf(letter))
  group.lastNew = Math.max(group.lastNew, firstDeathOf(letter))
  group.failingSince = Math.min(group.failingSince, firstFailureOf(letter))
  group.oldest = Math.min(group.oldest, arrivalOf(letter))
  group.alike &&= group.newestError === error
  group.parts = sharedParts(group.parts, error.split(VARYING))
  if (isOfTest(letter)) group.tests = (group.tests ?? 0) + 1
  const recipient = recipientOf(letter)
  const known = group.recipients ?? []
  if (recipient !== undefined && !known.includes(recipient) && known.length < MOST_RECIPIENTS)
    group.recipients = [...known, recipient]
  return group
}

/** Whether a letter belongs to a test message, for whose outcome nobody waits. */
export function isOfTest({ message }: DeadLetter): boolean {
  return message !== undefined && isTest(message)
}

/** When a letter died, before any retry (Unix ms). */
export function firstDeathOf({ at, firstAt = at }: Pick<DeadLetter, 'at' | 'firstAt'>): number {
  return firstAt
}

/** When the first attempt of a letter failed (Unix ms). A retried one may have lost its first errors. */
function firstFailureOf(letter: DeadLetter): number {
  const { errors, firstErrors = errors } = letter
  const death = firstDeathOf(letter)
  return Math.min(death, firstErrors[0]?.at ?? death)
}

/** The last error of a letter. */
export function lastOf({ errors, reason }: DeadLetter) {
  return errors.at(-1) ?? { code: 'internal', message: reason }
}

/** The id of the message of a letter of dispatch. */
export function messageIdOf({ queue, message }: DeadLetter): string | undefined {
  return queue === DISPATCH_QUEUE ? message?.id : undefined
}

/** The unsent reply with its subject, or the text of the message. */
export function textOf({ queue, message, data }: DeadLetter): string {
  const reply = queue === OUTBOX_QUEUE ? textAt(data, 'text') : undefined
  if (reply) return [textAt(data, 'subject'), reply].filter(Boolean).join(' · ')
  if (message) return message.subject ?? messageSummary(message) ?? message.text
  return summaryOf(data) ?? String(Object(data).text ?? '')
}

/** To whom an unsent reply was to go. */
export function recipientOf({ queue, message, data }: DeadLetter): string | undefined {
  if (queue !== OUTBOX_QUEUE) return undefined
  return textAt(data, 'to') ?? message?.from.name ?? message?.from.address ?? message?.from.id
}

/** When the message of a letter arrived. For a letter without a message: when it died. */
function arrivalOf({ message, at }: DeadLetter): number {
  return message?.receivedAt ?? at
}
