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

/** Behind all others: what no route takes may still be a decision. A prefix costs the other messages next to nothing. */
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
 * Whether words of a conversation count: of somebody proven, where people talk. In mail, which reaches everybody, of the people whom
 * `allowed-senders` names; by webhook where somebody waits for the answer.
 */
export function mayDecideByWords({ transport, from, data }: Message): boolean {
  if (from.verified !== true) return false
  if (transport === 'email') return data.allowed === true && data.auto === undefined
  return transport === 'webhook' ? data.respond === 'result' : CHATS.includes(transport)
}

/** Whether somebody says what may be a decision: that goes into the call of no other message. */
export function isDecision(message: Message): boolean {
  // What was said before an edit, or is sent again by whoever may do that, was not meant for what waits now.
  const isSaid = message.data.notice !== true && message.data.resent === undefined
  return WORDS.test(message.text) && isSaid && mayDecideByWords(message)
}

/** What a message decides, or how it is answered. */
const verdictSchema = z.union([
  z.object({ id: z.string(), approve: z.boolean() }),
  z.object({ answer: z.string() }),
])
type Verdict = z.infer<typeof verdictSchema>
/** Clocks of senders may be wrong by so much (ms). */
const CLOCKS = 5 * 60_000
/** Longer than any attempt to answer a message. */
const KEPT = 7 * 86_400_000

/**
 * Takes "yes", "no", "approve 3fa9" as a decision on what waits for one in this very conversation (the command line is one), by somebody who may
 * decide. Returns what to answer; undefined where it is no such message, and whoever it is meant for answers. The same message again,
 * as after a crash, decides the same, and is answered so.
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
      return { answer: `Several wait for a decision. Say which:\n${[only, ...others].map(line).join('\n')}` }
    if (only) return { id: only.id, approve: approves !== undefined }
    if (here.length === 0 || id === '') return undefined
    return { answer: named.length > 0 ? 'You may not decide that.' : `No approval ${id} waits here.` }
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

/** The skill of `WORDS_ROUTE`. Dispatch looks for decisions before it runs any skill: what comes here is none. */
export const approvalWords: Skill = defineSkill<unknown>({
  name: SKILL,
  description: 'Takes "yes" and "no" where nothing waits for them, and answers nothing.',
  args: z.looseObject({}),
  run: () => undefined,
})

/** What answers the mail that asks an approver, and no other. */
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
 * Whether a word without an id may be about it: who wrote had seen it, and among many people, who say yes to each other in a Slack
 * channel or in a mail with a copy to us, it is said to the bot.
 */
function isMeant({ receivedAt, transport, to, data }: Message, { requestedAt }: Approval): boolean {
  if (requestedAt > receivedAt) return false
  if (transport === 'email') {
    // A mail that somebody keeps and sends again later is signed as it was.
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
