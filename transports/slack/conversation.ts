import { z } from 'zod'
import type { Reply } from '../../src/core/transport.ts'

/** Where a reply goes. It travels as `data.replyTarget` of the message that it answers. */
export const targetSchema = z.object({
  team: z.string().min(1),
  channel: z.string().min(1),
  /** Slack's thread_ts; without it the reply goes to the channel. */
  thread: z.string().optional(),
  /** The message that is answered starts the thread, so there may be none yet that anybody sees. */
  startsThread: z.boolean().optional(),
  /** For ephemeral replies: who sees them. */
  user: z.string().optional(),
  /** Where the answer goes that only `user` may see, to a slash command or a click. */
  responseUrl: z.string().optional(),
  /** What opens a modal, for three seconds after the click or the command. */
  triggerId: z.string().optional(),
  /** The click was inside a modal, so another one goes on top of it. */
  inModal: z.boolean().optional(),
})

export type Target = z.infer<typeof targetSchema>

const TIMESTAMP = /^\d+\.\d+$/

/** `slack:TEAM:CHANNEL[:THREAD][:USER]`; the user where `alone`: nobody else sees it, so it is a conversation of its own. */
export function conversationOf({ team, channel, thread, user, alone }: Target & { alone?: boolean }): string {
  const parts = ['slack', team, channel, thread, alone ? user : undefined]
  return parts.filter((part) => part !== undefined).join(':')
}

/**
 * Where a reply goes: the target of the message that it answers, else `to` (`[TEAM/]CHANNEL[/THREAD]`, where a user's
 * id or a channel's name will do), else what its conversation says. Undefined where it says nothing.
 */
export function targetOf(reply: Reply, defaultTeam: string | undefined): Target | undefined {
  if (reply.to !== undefined) return fromAddress(reply.to, defaultTeam)
  return targetSchema.safeParse(reply.target).data ?? fromConversation(reply.conversation)
}

function fromConversation(conversation: string): Target | undefined {
  const [prefix, team, channel, thread = ''] = conversation.split(':')
  if (prefix !== 'slack' || !team || !channel) return undefined
  return { team, channel, thread: TIMESTAMP.test(thread) ? thread : undefined }
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
