import { z } from 'zod'
import type { Reply } from '../../src/core/transport.ts'
import { defined } from '../../src/lib/defined.ts'

/** Target of a reply, kept in `data.replyTarget` of the answered message. */
export const targetSchema = z.object({
  team: z.string().min(1),
  channel: z.string().min(1),
  /** Slack's thread_ts; absent: the reply goes to the channel. */
  thread: z.string().optional(),
  /** The answered message starts the thread, which may not exist yet. */
  startsThread: z.boolean().optional(),
  /** For ephemeral replies: their viewer. */
  user: z.string().optional(),
  /** Response URL for an answer to a command or click that only `user` may see. */
  responseUrl: z.string().optional(),
  /** Timestamp of the post whose button was clicked, unless it was ephemeral. */
  clicked: z.string().optional(),
  /** The id with which a modal can be opened, within three seconds of the click or command. */
  triggerId: z.string().optional(),
  /** The click was inside a modal, so a new one is pushed on top. */
  inModal: z.boolean().optional(),
})

export type Target = z.infer<typeof targetSchema>

const TIMESTAMP = /^\d+\.\d+$/
const USER = /^[UW][A-Z0-9]+$/

/**
 * `slack:TEAM:CHANNEL[:THREAD][:USER]`. With the user if only they see it (`alone`), which makes it
 * a separate conversation.
 */
export function conversationOf({ team, channel, thread, user, alone }: Target & { alone?: boolean }): string {
  const parts = ['slack', team, channel, thread, alone ? user : undefined]
  return parts.filter((part) => part !== undefined).join(':')
}

/**
 * The target of a reply: `to` (`[TEAM/]CHANNEL[/THREAD]`, also with a user's id or a channel's
 * name), else that of the answered message, else the target encoded in its conversation. Undefined
 * if there is none.
 */
export function targetOf(reply: Reply, defaultTeam: string | undefined): Target | undefined {
  if (reply.to !== undefined) return fromAddress(reply.to, defaultTeam)
  return targetSchema.safeParse(reply.target).data ?? fromConversation(reply.conversation)
}

function fromConversation(conversation: string): Target | undefined {
  const [prefix, team, channel, ...more] = conversation.split(':')
  if (prefix !== 'slack' || !team || !channel) return undefined
  const thread = more.find((part) => TIMESTAMP.test(part))
  return { team, channel, thread, ...defined({ user: more.find((part) => USER.test(part)) }) }
}

function fromAddress(to: string, defaultTeam: string | undefined): Target | undefined {
  const conversation = fromConversation(to)
  if (conversation) return conversation
  const parts = to.split('/')
  const thread = TIMESTAMP.test(parts.at(-1) ?? '') ? parts.pop() : undefined
  const channel = parts.pop()?.replace(/^@/, '')
  const team = parts.pop() ?? defaultTeam
  return channel && team !== undefined ? { team, channel, thread } : undefined
}
