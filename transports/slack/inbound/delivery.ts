import { randomUUID } from 'node:crypto'
import { isJsonObject, type JsonObject, objectAt, textAt } from '../../../src/core/json.ts'
import type { Accepted } from '../../../src/core/message.ts'
import type { Target } from '../conversation.ts'
import type { Workspace } from '../workspaces/workspace.ts'
import type { Content } from './content.ts'

/** An accepted message. */
export type AcceptedPayload = Accepted & {
  /** Whether a Bolt app handles it. */
  isListened: boolean
  /** Whether the acknowledgement waits for that app, which may add content. */
  isAnsweredByApp: boolean
  /** Whether reactions show its progress. */
  isFollowed: boolean
}

/**
 * The acknowledgement of a payload. `response`: its content, if any. Undefined for an ignored
 * payload.
 */
export type Acknowledgement = { response?: object } | undefined

/** A payload and its installation. */
export type Delivery = {
  payload: JsonObject
  workspace: Workspace
  /** Retry number; 0 for the first delivery. */
  retry: number
  /** For a modal: the place where it was opened. */
  opened?: { channel: string; thread?: string } | undefined
}

/**
 * Maximum wait for data of an event. Slack waits 3 s for its acknowledgement, which needs the
 * store.
 */
const EVENT_TIMEOUT_MS = 2_000
/**
 * Maximum wait for data of an interaction. A modal must be opened within 3 s, and Slack does not
 * retry clicks and commands.
 */
const INTERACTION_TIMEOUT_MS = 1_000
/** Maximum wait for data of a message read back from history, which is not delivered again. */
const READ_BACK_TIMEOUT_MS = 120_000
/**
 * Number of retries: immediately, after 1 minute and after 5 minutes
 * (https://docs.slack.dev/apis/events-api#retries).
 */
const LAST_RETRY = 3

/**
 * How long (ms) a payload may wait for data from Slack, and whether Slack delivers it again after a
 * refusal.
 */
export function lookupLimits({ payload, retry }: Delivery): { timeout: number; willBeRetried: boolean } {
  if (payload.event === undefined) return { timeout: INTERACTION_TIMEOUT_MS, willBeRetried: false }
  // Only deliveries by Slack have an id.
  if (payload.event_id === undefined) return { timeout: READ_BACK_TIMEOUT_MS, willBeRetried: false }
  return { timeout: EVENT_TIMEOUT_MS, willBeRetried: retry < LAST_RETRY }
}

/**
 * Whether the author belongs to another workspace, through a shared channel
 * (https://docs.slack.dev/apis/slack-connect). In such a channel, an author whose workspace is not
 * given counts as external.
 */
export function isExternal({ payload, workspace: { team, teams } }: Delivery): boolean {
  const event = objectAt(payload, 'event')
  const isShared = payload.is_ext_shared_channel
  // If an organisation installed the app as a whole, `team` is its id.
  const isOfOrganisation = textAt(payload, 'team.enterprise_id') === team
  if (isShared === false || isOfOrganisation) return false
  const changed = event.message ?? event.previous_message
  const message = isJsonObject(changed) ? changed : event
  const home = textAt(payload, 'user.team_id') ?? textAt(message, 'user_team') ?? textAt(message, 'team')
  return home === undefined ? isShared === true : !teams.has(home)
}

/** A parsed payload with its reply target, before names are resolved and files fetched. */
export type Draft = Target & {
  /** Stable over Slack's retries, and the same for a message however it is delivered. */
  key: string
  event: string | string[]
  /** The event is about another message, whose thread has to be looked up. */
  threadUnknown?: boolean
  /** For a reply in a thread: the bot is in the thread (`mine`), or that has to be looked up. */
  inThread?: 'mine' | 'unknown' | undefined
  user: string
  /** Display name of another bot. */
  userName?: string | undefined
  /** The message's timestamp, which is its id in the channel; clicks and commands have none. */
  ts?: string | undefined
  mention?: boolean
  /** Only the user sees the command, or the message that was clicked. */
  alone?: boolean
  content?: Content
  files?: JsonObject[]
  /** Why the event is not accepted as a message. Bolt apps still get it. */
  unwantedReason?: string | undefined
  /** Fields specific to the kind of event: command, action, reaction, … */
  extra: JsonObject
}

/** The parsed payload, or the reason why it is ignored. Both are acknowledged. */
export type Read = Draft | { ignored: string }

/** Events whose `ts` is not that of the message they are about. */
const ABOUT_OTHERS = new Set<unknown>(['message_changed', 'message_deleted', 'message_replied'])

/**
 * Identifies an event for a Bolt app across retries and delivery paths. Slack sends a post as
 * `message`, as `app_mention`, or both: two events, so the type is in the key. Events made from
 * history have no id.
 */
export function eventKey(payload: JsonObject): string {
  const { event_id } = payload
  const event = objectAt(payload, 'event')
  const { type, subtype, edited, channel, ts } = event
  const isPost = (type === 'message' || type === 'app_mention') && !ABOUT_OTHERS.has(subtype)
  const team = textAt(payload, 'team_id') ?? ''
  // With an id, the event reports the edit. Without one it is from history, which has only the
  // edited post.
  const isEdit = edited && event_id
  if (isPost && ts && !isEdit) return `${team}:${channel}:${ts}:${type}`
  return `${team}:${event_id ?? event.event_ts ?? randomUUID()}`
}

/**
 * Whether listeners acknowledge a payload themselves: they choose when, and with which content.
 * False for events, except the start of a workflow step: Slack repeats it until an app with that
 * step acknowledges it.
 */
export function isAcknowledgedByApp(payload: JsonObject): boolean {
  return payload.type !== 'event_callback' || textAt(payload, 'event.type') === 'function_executed'
}
