import { type JsonObject, objectAt } from '../core/json.ts'
import { isAutomatic, isTest, type Message } from '../core/message.ts'
import { timeOf } from '../core/message-id.ts'
import type { Outcome } from '../core/message-query.ts'
import type { Note, Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { repliesIn } from './conversation-replies.ts'
import { settledIn } from './settle.ts'

/** The state of a send to an address that failed permanently. */
export const NOT_DELIVERED = 'not delivered'

type Found = { message: Message; outcome: Outcome }

/** A person has taken over a conversation. `isAnswered`: they did so by answering, at `since`. */
export type Hold = { by: string; since: number; isAnswered: boolean; reason?: string; until?: number }

type WaitingState = {
  waitingSince?: number
  reply?: JsonObject
  undelivered?: JsonObject
  settled?: JsonObject
}

/** Maximum number of messages that are read to find since when somebody waits. */
export const MOST_READ = 50
/** How much larger each step of reading them is than the last one. */
const STEP_GROWTH = 4
/** Outcomes of messages that need no answer: handled with another one, or the reply suppressed. */
const SETTLED: readonly Outcome[] = ['merged', 'suppressed']
/** The states of replies that failed permanently. */
const UNDELIVERED: ReadonlySet<string> = new Set(['dead', 'bounced', NOT_DELIVERED])
/** The sender that a submission has if it names none. */
const NO_SENDER = 'cli'

/**
 * Makes a function that finds whether somebody waits for an answer in a conversation. `messages`:
 * its messages, newest first. `waitingSince` (Unix ms): the first message after the last answer.
 * `reply`: the last reply that was sent to the newest message. `undelivered`: the last reply to it,
 * if that one was not delivered; then the sender still waits. `settled`: a person has said that
 * the newest message needs no answer, and no later reply was not delivered. `hold`: a person has
 * taken over; messages since then wait for an answer of that person. `sendsTo`: history entries of
 * failed sends that answer no message by id. `older`: reads the next messages before `messages`,
 * newest first; empty at the end.
 */
export function createWaitingState(
  journal: Pick<Store['journal'], 'history'>,
  canAnswer: (message: Message) => boolean,
) {
  const read = async ({ message }: Found, sends: readonly Note[] = []) => {
    const history = await journal.history(message.id)
    const answers = repliesIn(message.id, [...history, ...sends])
      .filter(isAnswer)
      .sort((a, b) => a.at - b.at)
    return { answers, settled: settledIn(history) }
  }
  const isHandled = async (found: Found) => {
    const { answers, settled } = await read(found)
    return settled !== undefined || answers.some(isSent)
  }

  return async (
    messages: readonly Found[],
    hold?: Hold,
    sendsTo?: ReadonlyMap<string, readonly Note[]>,
    older?: (size: number) => Promise<Found[]>,
  ): Promise<WaitingState> => {
    const [newest, ...before] = messages.slice(0, MOST_READ)
    if (!newest) return {}
    const { answers, settled } = await read(newest, sendsTo?.get(newest.message.id))
    const last = answers.findLast((answer) => isSent(answer) || isUndelivered(answer))
    if (last && isSent(last)) return { reply: saidIn(last) }
    const isOver = settled !== undefined && (last?.at ?? 0) <= settled.at
    if (isOver || !expectsAnswer(newest, canAnswer, hold)) {
      const reply = answers.findLast(isSent)
      return { ...(reply && { reply: saidIn(reply) }), ...(isOver && { settled }) }
    }
    let waitingSince = timeOf(newest.message.id)
    for await (const some of inSteps(before, older)) {
      const ends = some.map((one) => !expectsAnswer(one, canAnswer, hold) || isHandled(one))
      const end = (await Promise.all(ends)).indexOf(true)
      const first = end === -1 ? some.at(-1) : some[end - 1]
      if (first) waitingSince = timeOf(first.message.id)
      if (end !== -1) break
    }
    return { waitingSince, ...(last && { undelivered: { ...saidIn(last), ...whyNot(last) } }) }
  }
}

/**
 * Messages in steps: most conversations need only one, and long ones would take too many steps of
 * one.
 */
async function* inSteps(
  messages: readonly Found[],
  older: (size: number) => Promise<Found[]> = async () => [],
) {
  let size = 1
  for (let from = 0; from < messages.length; size *= STEP_GROWTH) {
    yield messages.slice(from, from + size)
    from += size
  }
  for (let some = await older(size); some.length > 0; some = await older(size)) {
    yield some
    size *= STEP_GROWTH
  }
}

/** A request for an approval does not answer the sender. */
function isAnswer({ approval }: JsonObject): boolean {
  return approval === undefined
}

function isSent({ state }: JsonObject): boolean {
  return state === 'sent'
}

function isUndelivered({ state }: JsonObject): boolean {
  return typeof state === 'string' && UNDELIVERED.has(state)
}

function saidIn({ at, text, by }: JsonObject) {
  return defined({ at, text, by })
}

function whyNot({ to, error, letter }: JsonObject) {
  return defined({ to, error, letter })
}

/**
 * Whether the sender of a message waits for an answer. False for automatic messages, tests, and
 * submitted messages without a sender.
 */
function expectsAnswer(
  { message, outcome }: Found,
  canAnswer: (message: Message) => boolean,
  hold: Hold | undefined,
): boolean {
  const isSubmitted = objectAt(message.data, 'replyTarget').log === true
  const hasSender = !isSubmitted || message.from.id !== NO_SENDER
  return (
    hasSender &&
    !isTest(message) &&
    !isAutomatic(message) &&
    !isSettled({ message, outcome }, hold) &&
    canAnswer(message)
  )
}

/**
 * Whether a message needs no answer. Messages that are recorded as handled by the person who has
 * taken over still need one.
 */
function isSettled({ message, outcome }: Found, hold: Hold | undefined): boolean {
  const at = timeOf(message.id)
  if (hold?.isAnswered && at <= hold.since) return true
  if (outcome === 'dropped') return !hold || at < hold.since
  return SETTLED.includes(outcome)
}
