import type { Json, JsonObject } from '../../../src/core/json.ts'
import type { Target } from '../conversation.ts'
import type { Shown } from './shown.ts'

/** What was read of an event, before names are looked up and files are fetched. */
export type Draft = {
  team: string
  /** Stable over Slack's retries, and the same for one message however it is delivered. */
  key: string
  event: string | string[]
  user: string
  userName?: string
  channel?: string
  channelName?: string
  /** The message's own timestamp, Slack's id of it in its channel. */
  ts?: string
  /** For what people write: which kind of event told of it. */
  source?: 'message' | 'app_mention'
  /** The thread that it is in or starts. */
  thread?: string
  direct: boolean
  mention: boolean
  /** Slack's markup, and its blocks where it has any. */
  text: string
  blocks?: Json
  /** What it shows besides, where it does. */
  shown?: Shown
  files: JsonObject[]
  /** What only this kind of event has: command, action, reaction, … */
  extra: JsonObject
  conversation: string
  target: Target
  /** The thread is that of another message, which has to be asked for. */
  threadUnknown?: true
}

/** The little of a draft that is needed once it is a message: where it stands. */
export type Standing = Pick<Draft, 'team' | 'channel' | 'ts' | 'thread' | 'source'>

/** `skip`: why an event starts nothing. It is acknowledged all the same. */
export type Read = { draft: Draft } | { skip: string }
