import { type JsonObject, objectAt, textAt } from '../core/json.ts'
import { isAutomatic, isTest, type Message } from '../core/message.ts'
import { timeOf } from '../core/message-id.ts'
import type { Outcome } from '../core/message-query.ts'
import type { Note, Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'

type Found = { message: Message; outcome: Outcome }

/** A person has taken over a conversation. `isAnswered`: they did so by answering, at `since`. */
export type Hold = { by: string; since: number; isAnswered: boolean; reason?: string; until?: number }

/** Maximum number of messages that are read to find since when somebody waits. */
const MOST_READ = 10
/** Outcomes of messages that need no answer: handled with another one, or the reply suppressed. */
const SETTLED: readonly Outcome[] = ['merged', 'suppressed']
/** The sender that a submission has if it names none. */
const NO_SENDER = 'cli'

/**
 * Makes a function that finds whether somebody waits for an answer in a conversation. `messages`:
 * its messages, newest first. `waitingSince` (Unix ms): the first message after the last answer.
 * `reply`: the last reply that was sent to the newest message. `hold`: a person has taken over;
 * messages since then wait for an answer of that person.
 */
export function createWaitingState(
  journal: Pick<Store['journal'], 'history'>,
  canAnswer: (message: Message) => boolean,
) {
  const sentIn = async ({ message }: Found) =>
    repliesIn(message.id, await journal.history(message.id)).findLast(isSentAnswer)

  return async (messages: readonly Found[], hold?: Hold) => {
    const [newest, ...before] = messages.slice(0, MOST_READ)
    if (!newest) return {}
    const reply = await sentIn(newest)
    if (reply) return { reply: defined({ at: reply.at, text: reply.text, by: reply.by }) }
    if (!expectsAnswer(newest, canAnswer, hold)) return {}
    let waitingSince = timeOf(newest.message.id)
    for (const one of before) {
      if (!expectsAnswer(one, canAnswer, hold) || (await sentIn(one))) break
      waitingSince = timeOf(one.message.id)
    }
    return { waitingSince }
  }
}

/** A request for an approval does not answer the sender. */
function isSentAnswer({ state, approval }: JsonObject): boolean {
  return state === 'sent' && approval === undefined
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

/** The last known state of each reply, sent or queued. */
export function repliesIn(inReplyTo: string, notes: readonly Note[]) {
  const replies = new Map<string, JsonObject & { at: number }>()
  for (const { at, road, what: state, detail } of notes) {
    const key = textAt(detail, 'key')
    if (road !== 'outbox' || key === undefined) continue
    const { text, by, error, reason, diagnostic, delay, letter, to, subject } = objectAt({ detail }, 'detail')
    // Later notes, such as a bounce, do not repeat the text.
    const before = replies.get(key)
    replies.set(key, {
      at: state === 'bounced' && before ? before.at : at,
      role: 'reply',
      inReplyTo,
      text: text ?? before?.text ?? '',
      state,
      ...defined({
        by: by ?? before?.by,
        approval: /^approval:([^:]+)/.exec(key)?.[1],
        error: error ?? reason ?? diagnostic,
        nextAt: typeof delay === 'number' ? at + delay : undefined,
        letter,
        to,
        subject,
      }),
    })
  }
  return [...replies.values()]
}
