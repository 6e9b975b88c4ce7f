import { z } from 'zod'
import type { Caller } from '../core/call.ts'
import { reasonOf, TriviumError } from '../core/errors.ts'
import { pathGet } from '../core/json.ts'
import type { Message } from '../core/message.ts'
import { routeSchema } from '../core/route.ts'
import type { Approval, ApprovalService } from '../core/services.ts'
import { defineSkill, type Skill } from '../core/skill.ts'
import { headOf } from '../lib/head-of.ts'
import { mayDecide } from '../skills/approvals/approval-service.ts'
import { isCommandLine } from '../state/assistant/viewer.ts'

/** Where people talk. */
const CHATS = ['cli', 'slack', 'websocket', 'email']
const WORDS =
  /^\s*(?:(yes|approved?)|no|deny|denied|reject(?:ed)?)(?:\s+(?:approval[- ])?([0-9a-f]{4,16}))?[\s.!]*$/i
const SKILL = 'approval-words'

/** Behind all others: what no route takes may still be a decision. */
export const WORDS_ROUTE = routeSchema.parse({
  name: SKILL,
  match: { transport: CHATS, text: `/${WORDS.source}/i` },
  skill: SKILL,
})

/** Whether somebody says what may be a decision: that goes into the call of no other message. */
export function isDecision({ transport, text }: Pick<Message, 'transport' | 'text'>): boolean {
  return CHATS.includes(transport) && WORDS.test(text)
}

/**
 * Takes "yes", "no", "approve 3fa9" as a decision on what waits for one in this very conversation (the command line is one), by somebody who may
 * decide. Returns what to answer; undefined where it is no such message, and whoever it is meant for answers.
 */
export function createApprovalWords(approvals: Pick<ApprovalService, 'list' | 'decide'>) {
  return async (message: Message, sender: Caller): Promise<string | undefined> => {
    const [said, approves, id = ''] = WORDS.exec(message.text) ?? []
    if (said === undefined || !CHATS.includes(message.transport)) return undefined
    // Who said it then did not mean what waits now, and who sent it again may not decide.
    if (message.data.resent !== undefined) return undefined
    const caller: Caller = isCommandLine(message) ? { kind: 'cli' } : sender
    const pending = await approvals.list({ status: 'pending', limit: 1000 })
    const here = pending.filter(
      (approval) => isAskedIn(message, approval) && (id !== '' || isMeant(message, approval)),
    )
    const named = here.filter((approval) => approval.id.startsWith(id.toLowerCase()))
    const [only, ...others] = named.filter((approval) => mayDecide(approval, caller))
    if (only && others.length > 0)
      return `Several wait for a decision. Say which:\n${[only, ...others].map(line).join('\n')}`
    if (only) return decide(only, approves !== undefined, caller)
    if (here.length === 0 || id === '') return undefined
    return named.length > 0 ? 'You may not decide that.' : `No approval ${id} waits here.`
  }

  async function decide({ id, title }: Approval, approve: boolean, caller: Caller): Promise<string> {
    try {
      await approvals.decide({ id, approve }, { caller })
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

function isAskedIn({ gateway, conversation, ...rest }: Message, { message }: Approval): boolean {
  if (message?.gateway !== gateway) return false
  return message.conversation === conversation || isCommandLine({ gateway, conversation, ...rest })
}

/**
 * Whether a word without an id may be about it: who wrote had seen it, and among many people in a Slack channel, who say yes to each
 * other and have the buttons, it is said to the bot.
 */
function isMeant({ receivedAt, transport, data }: Message, { requestedAt }: Approval): boolean {
  if (requestedAt > receivedAt) return false
  return (
    transport !== 'slack' || data.direct === true || data.mention === true || typeof data.thread === 'string'
  )
}

function line({ id, title, args }: Approval): string {
  const text = pathGet(args, 'text')
  const what = [title.split('\n')[0], ...(typeof text === 'string' ? [headOf(text, 80)] : [])].join(': ')
  return `- approve ${id.slice(0, 6)}, or deny ${id.slice(0, 6)}: ${what}`
}
