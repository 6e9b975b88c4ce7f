import { z } from 'zod'
import { routeSchema } from '../../config/schema/route.ts'
import type { Approval, ApprovalService } from '../../core/approval.ts'
import type { Caller } from '../../core/call.ts'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import { pathGet } from '../../core/json.ts'
import type { Message } from '../../core/message.ts'
import { defineSkill, type Skill } from '../../core/skill.ts'
import type { KeyValues } from '../../core/store.ts'
import { updateKv } from '../../core/update-kv.ts'
import { isCommandLine } from '../../core/viewer.ts'
import { headOf } from '../../lib/head-of.ts'
import { mayDecide } from './approval-service.ts'

const CHATS = ['cli', 'slack', 'websocket']
const WORDS =
  /^\s*(?:(yes|approved?)|no|deny|denied|reject(?:ed)?)(?:\s+(?:approval[- ])?([0-9a-f]{4,16}))?[\s.!]*$/i
const SKILL = 'approval-words'

/**
 * Comes last: a message without another route may still be a decision. The prefix makes it cheap
 * for all other messages.
 */
export const WORDS_ROUTE = routeSchema.parse({
  name: SKILL,
  match: {
    prefix: ['yes', 'approve', 'approved', 'no', 'deny', 'denied', 'reject', 'rejected'],
    transport: [...CHATS, 'email', 'webhook'],
    verified: true,
    text: `/${WORDS.source}/i`,
  },
  skill: SKILL,
})

/**
 * Whether the sender may decide by words: verified senders in chats; in mail only
 * `allowed-senders`, because anyone can send mail; by webhook only if the sender waits for the
 * result.
 */
export function mayDecideByWords({ transport, from, data }: Message): boolean {
  if (from.verified !== true) return false
  if (transport === 'email') return data.allowed === true && data.auto === undefined
  return transport === 'webhook' ? data.respond === 'result' : CHATS.includes(transport)
}

/** Whether a message may be a decision. Such messages are not merged into the call of another one. */
export function isDecision(message: Message): boolean {
  // Edited and resent messages do not count: they were written for an earlier request.
  const isSaid = message.data.notice !== true && message.data.resent === undefined
  return WORDS.test(message.text) && isSaid && mayDecideByWords(message)
}

/** The decision of a message, or the text to answer. */
const verdictSchema = z.union([
  z.object({ id: z.string(), approve: z.boolean() }),
  z.object({ answer: z.string() }),
])
type Verdict = z.infer<typeof verdictSchema>
/** Tolerated clock difference (ms) of senders. */
const CLOCKS = 5 * 60_000
/** Longer than all attempts to answer a message take together. */
const KEPT = 7 * 86_400_000

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
    const found = await updateKv(kv, `${SKILL}:${message.id}`, async (known) => {
      const value = known ? undefined : await judge(message, caller)
      return value && { value, ttl: KEPT }
    })
    const verdict = verdictSchema.optional().parse(found)
    return verdict && ('answer' in verdict ? verdict.answer : decide(verdict.id, verdict.approve, caller))
  }

  async function judge(message: Message, caller: Caller): Promise<Verdict | undefined> {
    const [, approves, id = ''] = WORDS.exec(message.text) ?? []
    const pending = await approvals.list({ status: 'pending', limit: 1000 })
    const here = pending.filter(
      (approval) => isAskedIn(message, approval) && (id !== '' || isMeant(message, approval)),
    )
    const named = here.filter((approval) => approval.id.startsWith(id.toLowerCase()))
    const [only, ...others] = named.filter((approval) => mayDecide(approval, caller))
    if (only && others.length > 0)
      return {
        answer: `Several requests are waiting. Which one do you mean?\n${[only, ...others].map(line).join('\n')}`,
      }
    if (only) return { id: only.id, approve: approves !== undefined }
    if (here.length === 0 || id === '') return undefined
    return {
      answer:
        named.length > 0
          ? 'You are not an approver of this request.'
          : `There is no pending approval ${id} here.`,
    }
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

function isAskedIn(said: Message, approval: Approval): boolean {
  const { gateway, conversation, transport } = said
  if (transport === 'email' && conversation === mailConversation(approval)) return true
  const { message } = approval
  return message?.gateway === gateway && (message.conversation === conversation || isCommandLine(said))
}

/**
 * Whether a decision without an id may refer to a request: it was sent after the request, and where
 * several people talk (a Slack channel, a mail with us in copy) it is addressed to the bot.
 */
function isMeant({ receivedAt, transport, to, data }: Message, { requestedAt }: Approval): boolean {
  if (requestedAt > receivedAt) return false
  if (transport === 'email') {
    // The signature of an old mail stays valid if someone sends it again.
    const isOld = Number(data.date ?? 0) < requestedAt - CLOCKS
    return !isOld && Array.isArray(data.to) && to !== undefined && data.to.includes(to)
  }
  return (
    transport !== 'slack' || data.direct === true || data.mention === true || typeof data.thread === 'string'
  )
}

function line({ id, title, args }: Approval): string {
  const text = pathGet(args, 'text')
  const what = [title.split('\n')[0], ...(typeof text === 'string' ? [headOf(text, 80)] : [])].join(': ')
  return `- approve ${id.slice(0, 6)}, or deny ${id.slice(0, 6)}: ${what}`
}
