import { z } from 'zod'
import { routeSchema } from '../../config/route-schema.ts'
import type { Approval, ApprovalService } from '../../core/approval.ts'
import type { Caller } from '../../core/call.ts'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import type { InternalSkill } from '../../core/internal-skills.ts'
import { pathGet } from '../../core/json.ts'
import { isAutomatic, type Message } from '../../core/message.ts'
import { defineSkill, type Skill } from '../../core/skill.ts'
import type { KeyValues } from '../../core/store.ts'
import { DAY, MINUTE } from '../../core/units.ts'
import { updateKv } from '../../core/update-kv.ts'
import { isCommandLine } from '../../core/viewer.ts'
import { headOf } from '../../lib/head-of.ts'
import { mayDecide } from './approval-service.ts'

/** Transports on which a verified sender may decide by words. */
const CHATS = ['cli', 'slack', 'websocket']
/** A decision, optionally with the beginning of a request's id: `yes`, `No!`, `approve 3fa9`. */
const DECISION =
  /^\s*(?:(yes|approved?)|no|deny|denied|reject(?:ed)?)(?:\s+(?:approval[- ])?([0-9a-f]{4,16}))?[\s.!]*$/i
const SKILL: InternalSkill = 'approval-words'

/**
 * The last route: it takes decisions that no other route matches. `prefix` rules out most messages
 * before the slower regex runs.
 */
export const WORDS_ROUTE = routeSchema.parse({
  name: SKILL,
  match: {
    prefix: ['yes', 'approve', 'approved', 'no', 'deny', 'denied', 'reject', 'rejected'],
    transport: [...CHATS, 'email', 'webhook'],
    verified: true,
    text: `/${DECISION.source}/i`,
  },
  skill: SKILL,
})

/**
 * Whether the sender may decide by words: verified senders in chats; in mail only
 * `allowed-senders`, because anyone can send mail; by webhook only if the sender waits for the
 * result.
 */
export function mayDecideByWords(message: Message): boolean {
  const { transport, from, data } = message
  if (from.verified !== true) return false
  if (transport === 'email') return data.allowed === true && !isAutomatic(message)
  return transport === 'webhook' ? data.respond === 'result' : CHATS.includes(transport)
}

/** Whether a message may be a decision. Then it is not merged into the call of another message. */
export function isDecision(message: Message): boolean {
  // Edited and resent messages do not count: they were written for an earlier request.
  const isNew = message.data.notice !== true && message.data.resent === undefined
  return DECISION.test(message.text) && isNew && mayDecideByWords(message)
}

/** What a message decides, or the text to answer it with. */
const verdictSchema = z.union([
  z.object({ id: z.string(), approve: z.boolean() }),
  z.object({ answer: z.string() }),
])
type Verdict = z.infer<typeof verdictSchema>
/** Tolerated difference (ms) between the clock of this daemon and that of the sender. */
const CLOCK_TOLERANCE = 5 * MINUTE
/** Retention (ms) of verdicts: longer than all attempts to answer a message take together. */
const VERDICT_RETENTION = 7 * DAY

/**
 * Treats "yes", "no" or "approve 3fa9" as a decision on a request in the same conversation (the
 * command line counts as one), if the sender may decide. Returns the answer; undefined if the
 * message is not a decision, so that it continues to its own route. A repeated message, such as
 * after a crash, gets the same decision and answer.
 */
export function createApprovalWords(
  approvals: Pick<ApprovalService, 'list' | 'decide'>,
  kv: Pick<KeyValues, 'get' | 'set'>,
) {
  return (message: Message, sender: Caller): Promise<string | undefined> | undefined =>
    isDecision(message) ? answer(message, sender) : undefined

  async function answer(message: Message, sender: Caller): Promise<string | undefined> {
    const caller: Caller = isCommandLine(message) ? { kind: 'cli' } : sender
    const stored = await updateKv(kv, `${SKILL}:${message.id}`, async (earlier) => {
      const value = earlier ? undefined : await findVerdict(message, caller)
      return value && { value, ttl: VERDICT_RETENTION }
    })
    const verdict = verdictSchema.optional().parse(stored)
    if (!verdict) return undefined
    return 'answer' in verdict ? verdict.answer : decide(verdict.id, verdict.approve, caller)
  }

  async function findVerdict(message: Message, caller: Caller): Promise<Verdict | undefined> {
    const [, approves, id = ''] = DECISION.exec(message.text) ?? []
    const pending = await approvals.list({ status: 'pending', limit: 1000 })
    const asked = pending.filter(
      (approval) => isAskedIn(message, approval) && (id !== '' || mayReferTo(message, approval)),
    )
    const matching = asked.filter((approval) => approval.id.startsWith(id.toLowerCase()))
    const decidable = matching.filter((approval) => mayDecide(approval, caller))
    const [only, ...others] = decidable
    if (others.length > 0) {
      const list = decidable.map(listItem).join('\n')
      return { answer: `Several requests are waiting. Which one do you mean?\n${list}` }
    }
    if (only) return { id: only.id, approve: approves !== undefined }
    if (asked.length === 0 || id === '') return undefined
    if (matching.length > 0) return { answer: 'You are not an approver of this request.' }
    return { answer: `There is no pending approval ${id} here.` }
  }

  async function decide(id: string, approve: boolean, caller: Caller): Promise<string> {
    try {
      const { title } = await approvals.decide({ id, approve }, { caller })
      return `${approve ? 'Approved' : 'Denied'}: ${title}`
    } catch (error) {
      if (error instanceof TriviumError && !error.retryable) return reasonOf(error)
      throw error
    }
  }
}

/**
 * The skill of `WORDS_ROUTE`. Dispatch handles decisions before any skill runs, so a message that
 * arrives here is not one.
 */
export const approvalWords: Skill = defineSkill<unknown>({
  name: SKILL,
  description: 'Receives "yes" and "no" if no approval is pending, and does not reply.',
  args: z.looseObject({}),
  run: () => undefined,
})

/** The conversation of mails that answer an approval mail. */
export function mailConversation({ id }: Pick<Approval, 'id'>): string {
  return `approval-${id}`
}

/** Whether a request was asked in the conversation of a reply. */
function isAskedIn(reply: Message, approval: Approval): boolean {
  const { gateway, conversation, transport } = reply
  if (transport === 'email' && conversation === mailConversation(approval)) return true
  const { message } = approval
  return message?.gateway === gateway && (message.conversation === conversation || isCommandLine(reply))
}

/**
 * Whether a decision without an id may refer to a request. It must be sent after the request. Where
 * several people talk (a Slack channel, a mail with the bot in copy), it must address the bot.
 */
function mayReferTo({ receivedAt, transport, to, data }: Message, { requestedAt }: Approval): boolean {
  if (requestedAt > receivedAt) return false
  if (transport === 'email') {
    // The signature of an old mail stays valid if someone sends it again.
    const isOld = Number(data.date ?? 0) < requestedAt - CLOCK_TOLERANCE
    return !isOld && Array.isArray(data.to) && to !== undefined && data.to.includes(to)
  }
  return (
    transport !== 'slack' || data.direct === true || data.mention === true || typeof data.thread === 'string'
  )
}

/** The words that decide a request, its title, and the beginning of the text that it would send. */
function listItem({ id, title, args }: Approval): string {
  const shortId = id.slice(0, 6)
  const firstLine = title.split('\n')[0]
  const text = pathGet(args, 'text')
  const what = typeof text === 'string' ? `${firstLine}: ${headOf(text, 80)}` : firstLine
  return `- approve ${shortId}, or deny ${shortId}: ${what}`
}
