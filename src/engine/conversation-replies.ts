import { type JsonObject, objectAt, textAt } from '../core/json.ts'
import { DECISIONS } from '../core/resumed-job.ts'
import type { Note } from '../core/store.ts'
import { defined } from '../lib/defined.ts'

/** A reply as its conversation shows it. `at` (Unix ms): when it was written. */
type ShownReply = JsonObject & { at: number }

/** The key of the post that replaces a request in Slack after the decision. */
const REPLACED_REQUEST = /^approval:[^:]+:decided$/
const STATUSES: readonly string[] = DECISIONS

/**
 * The last known state of each reply, sent or queued. A later attempt does not change `at`;
 * `sentAt` is the time at which a later attempt sent it.
 */
export function repliesIn(inReplyTo: string, notes: readonly Note[]): ShownReply[] {
  const replies = new Map<string, ShownReply>()
  for (const note of notes) {
    const key = textAt(note.detail, 'key')
    if (note.road !== 'outbox' || key === undefined || REPLACED_REQUEST.test(key)) continue
    replies.set(key, replyIn(note, key, inReplyTo, replies.get(key)))
  }
  return [...replies.values()].map((reply) => withDecision(reply, notes))
}

/** Adds the decision to a request for an approval. */
function withDecision(reply: ShownReply, notes: readonly Note[]): ShownReply {
  const { approval } = reply
  if (approval === undefined) return reply
  const decision = notes.find(
    ({ road, what, detail }) =>
      road === 'dispatch' && STATUSES.includes(what) && textAt(detail, 'approval') === approval,
  )
  if (!decision) return reply
  const { by, via, reason } = objectAt({ ...decision }, 'detail')
  return { ...reply, decision: { status: decision.what, at: decision.at, ...defined({ by, via, reason }) } }
}

/** `before`: the reply as of the earlier notes with its key. They may have what this one lacks. */
function replyIn(
  { at, what: state, detail }: Note,
  key: string,
  inReplyTo: string,
  before: ShownReply | undefined,
): ShownReply {
  const { text, by, error, reason, diagnostic, delay, letter, to, subject } = objectAt({ detail }, 'detail')
  return {
    at: before?.at ?? at,
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
      to: to ?? before?.to,
      subject,
      sentAt: state === 'sent' && before ? at : undefined,
    }),
  }
}
