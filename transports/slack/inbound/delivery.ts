import { randomUUID } from 'node:crypto'
import { isJsonObject, type JsonObject, objectAt, textAt } from '../../../src/core/json.ts'
import type { Accepted } from '../../../src/core/message.ts'
import type { Target } from '../conversation.ts'
import type { Workspace } from '../workspaces/workspace.ts'
import type { Content } from './content.ts'

/** An accepted message. `isListened`: a Bolt app handles it; `isFollowed`: reactions show its progress. */
export type TakenIn = Accepted & { isListened: boolean; isFollowed: boolean }

/** A payload that may be acknowledged; `response`: content of the acknowledgement. */
export type Taken = { response?: object } | undefined

/** A payload and its installation. */
export type Delivery = {
  payload: JsonObject
  workspace: Workspace
  /** Retry number; 0 for the first delivery. */
  retry: number
  /** Where its modal was opened. */
  opened?: { channel: string; thread?: string } | undefined
}

/** Patience for events: Slack waits 3 s for the acknowledgement, including the time of the store. */
const EVENT = 2000
/** Patience for interactions: a modal must be opened within 3 s, and Slack does not retry clicks and commands. */
const PERSON = 1000
/** Number of retries, at once, after 1 and 5 min: https://docs.slack.dev/apis/events-api#retries */
const LAST_RETRY = 3
/** Patience for messages read back from history, which are not delivered again. */
const READ_BACK = 120_000

/** How long (ms) a payload may wait for data from Slack, and whether Slack delivers it again after a refusal. */
export function patienceWith({ payload, retry }: Delivery) {
  if (payload.event === undefined) return { patience: PERSON, comesAgain: false }
  // Only deliveries by Slack have an id.
  if (payload.event_id === undefined) return { patience: READ_BACK, comesAgain: false }
  return { patience: EVENT, comesAgain: retry < LAST_RETRY }
}

/**
 * Whether the author belongs to another workspace, through a shared channel (https://docs.slack.dev/apis/slack-connect). In such a
 * channel, authors of unknown workspaces count as external.
 */
export function isExternal({ payload, workspace: { team, teams } }: Delivery): boolean {
  const event = objectAt(payload, 'event')
  const isShared = payload.is_ext_shared_channel
  if (isShared === false || textAt(payload, 'team.enterprise_id') === team) return false
  const changed = event.message ?? event.previous_message
  const written = isJsonObject(changed) ? changed : event
  const home = textAt(payload, 'user.team_id') ?? textAt(written, 'user_team') ?? textAt(written, 'team')
  return home === undefined ? isShared === true : !teams.has(home)
}

/** A parsed payload with its reply target, before names are resolved and files fetched. */
export type Draft = Target & {
  /** Stable over Slack's retries, and the same for a message however it is delivered. */
  key: string
  event: string | string[]
  /** The thread of another message, which has to be looked up. */
  threadUnknown?: boolean
  /** A reply in a thread with the bot (`mine`), or in one where that has to be looked up. */
  inThread?: 'mine' | 'unknown' | undefined
  user: string
  /** Display name of another bot. */
  userName?: string | undefined
  /** The message's timestamp, which is its id in the channel; clicks and commands have none. */
  ts?: string | undefined
  mention?: boolean
  alone?: boolean
  content?: Content
  files?: JsonObject[]
  /** Why it is not accepted as a message; Bolt apps still get it. */
  unwanted?: string | undefined
  /** Fields specific to the kind of event: command, action, reaction, … */
  extra: JsonObject
}

/** The parsed payload, or the reason why it is ignored. Both are acknowledged. */
export type Read = Draft | string

/** Events whose `ts` is not that of the message they are about. */
const ABOUT_OTHERS = new Set<unknown>(['message_changed', 'message_deleted', 'message_replied'])

/**
 * Identifies an event for a Bolt app across retries and delivery paths. Slack sends a post as `message` and as `app_mention`, and
 * history returns both without an id.
 */
export function eventKey(payload: JsonObject): string {
  const { event_id } = payload
  const event = objectAt(payload, 'event')
  const { type, subtype, edited, channel, ts } = event
  const isPost = (type === 'message' || type === 'app_mention') && !ABOUT_OTHERS.has(subtype)
  const team = textAt(payload, 'team_id') ?? ''
  if (isPost && ts && (!edited || !event_id)) return `${team}:${channel}:${ts}:${type}`
  return `${team}:${event_id ?? event.event_ts ?? randomUUID()}`
}

/**
 * Whether listeners decide when and with what a payload is acknowledged: true except for events, and also for the start of a workflow
 * step, which Slack repeats until an app with that step acknowledges it.
 */
export function isAcknowledgedByApp(payload: JsonObject): boolean {
  return payload.type !== 'event_callback' || textAt(payload, 'event.type') === 'function_executed'
}
