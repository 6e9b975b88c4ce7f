import type { JsonObject } from '../../../src/core/json.ts'
import { conversationOf, type Target } from '../conversation.ts'
import type { Content } from './content.ts'

/** What was read of a payload, before names are looked up and files are fetched, and how it can be answered. */
export type Draft = Target & {
  /** Stable over Slack's retries, and the same for one message however it is delivered. */
  key: string
  event: string | string[]
  channelName?: string | undefined
  /** The thread is that of another message, which has to be asked for. */
  threadUnknown?: boolean
  /** It answers in a thread that the bot was called in or began, or it has to be looked up whether the bot is in it. */
  inThread?: 'mine' | 'unknown' | undefined
  user: string
  userName?: string | undefined
  /** They belong to another workspace. */
  external?: boolean
  /** The message's own timestamp, Slack's id of it in its channel. */
  ts?: string | undefined
  /** For what people write: which kind of event told of it. */
  source?: 'message' | 'app_mention'
  direct: boolean
  mention?: boolean
  /** Nobody else sees it, so it is a conversation of its own. */
  alone?: boolean
  content?: Content
  files?: JsonObject[]
  /** What only this kind of event has: command, action, reaction, … */
  extra: JsonObject
}

/** What was read, or in words why it starts nothing. It is acknowledged all the same. */
export type Read = Draft | string

/** The conversation that a draft belongs to. */
export function conversationIn(draft: Draft): string {
  return draft.alone ? `${conversationOf(draft)}:${draft.user}` : conversationOf(draft)
}
