import type { JsonObject } from '../../src/core/json.ts'
import type { Reply } from '../../src/core/transport.ts'
import { textAt } from './fields.ts'

/** Where a reply goes. It travels as `data.replyTarget` of the message that it answers. */
export type Target = {
  team: string
  channel: string
  /** Slack's thread_ts; without it the reply goes to the channel. */
  thread?: string
  /** The message that is answered starts the thread, so there may be none yet that anybody sees. */
  startsThread?: true
  /** For ephemeral replies: who sees them. */
  user?: string
  /** Where the answer goes that only `user` may see, to a slash command or a click, and until when (Unix ms). */
  responseUrl?: string
  responseUntil?: number
  /** What opens a modal, for three seconds after the click or the command. */
  triggerId?: string
  /** The click was inside a modal, so another one goes on top of it. */
  inModal?: true
}

/** `slack:TEAM:CHANNEL[:THREAD]`. */
export function conversationOf({
  team,
  channel,
  thread,
}: Pick<Target, 'team' | 'channel' | 'thread'>): string {
  return ['slack', team, channel, ...(thread === undefined ? [] : [thread])].join(':')
}

/** A target as JSON, for `data.replyTarget`. */
export function targetData(target: Target): JsonObject {
  return { ...target }
}

/**
 * Where a reply goes: the target of the message that it answers, else `to` (`[TEAM/]CHANNEL[/THREAD]`, where a user's
 * id or a channel's name will do), else what its conversation says. Undefined where it says nothing.
 */
export function targetOf(reply: Reply, defaultTeam: string | undefined): Target | undefined {
  if (reply.to !== undefined) return fromAddress(reply.to, defaultTeam)
  return fromData(reply.target) ?? fromConversation(reply.conversation)
}

function fromData(data: JsonObject | undefined): Target | undefined {
  const team = textAt(data, 'team')
  const channel = textAt(data, 'channel')
  if (team === undefined || channel === undefined) return undefined
  const keys = ['thread', 'user', 'responseUrl', 'triggerId']
  const [thread, user, responseUrl, triggerId] = keys.map((key) => textAt(data, key))
  const responseUntil = data?.responseUntil
  return {
    team,
    channel,
    ...(thread === undefined ? {} : { thread }),
    ...(data?.startsThread === true ? { startsThread: true } : {}),
    ...(user === undefined ? {} : { user }),
    ...(responseUrl === undefined ? {} : { responseUrl }),
    ...(typeof responseUntil === 'number' ? { responseUntil } : {}),
    ...(triggerId === undefined ? {} : { triggerId }),
    ...(data?.inModal === true ? { inModal: true } : {}),
  }
}

function fromConversation(conversation: string): Target | undefined {
  const [prefix, team, channel, thread] = conversation.split(':')
  if (prefix !== 'slack' || !team || !channel) return undefined
  return { team, channel, ...(thread && TIMESTAMP.test(thread) ? { thread } : {}) }
}

function fromAddress(to: string, defaultTeam: string | undefined): Target | undefined {
  const conversation = fromConversation(to)
  if (conversation) return conversation
  const parts = to.split('/')
  const thread = TIMESTAMP.test(parts.at(-1) ?? '') ? parts.pop() : undefined
  const channel = parts.pop()?.replace(/^@/, '')
  const team = parts.pop() ?? defaultTeam
  if (!channel || team === undefined) return undefined
  return { team, channel, ...(thread === undefined ? {} : { thread }) }
}

const TIMESTAMP = /^\d+\.\d+$/
