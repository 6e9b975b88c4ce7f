import { randomUUID } from 'node:crypto'
import { isJsonObject, type JsonObject, objectAt, textAt } from '../../../src/core/json.ts'
import type { Accepted } from '../../../src/core/message.ts'
import type { Target } from '../conversation.ts'
import type { Workspace } from '../workspaces.ts'
import type { Content } from './content.ts'

/** A message that was accepted. `isListened`: a Bolt app listens to it; `isFollowed`: reactions show what becomes of it. */
export type TakenIn = Accepted & { isListened: boolean; isFollowed: boolean }

/** What became of a payload that may be acknowledged; `response` is what the acknowledgement says. */
export type Taken = { response?: object } | undefined

/** A payload, and the installation that it is for. */
export type Delivery = {
  payload: JsonObject
  workspace: Workspace
  /** Which repetition it is: 0 for what comes for the first time. */
  retry: number
  /** Where the modal was opened that it comes from. */
  opened?: { channel: string; thread?: string } | undefined
}

/** Slack waits 3 s for the acknowledgement of an event, and the store needs its time too. */
const EVENT = 2000
/** A person waits, and may have a modal opened only for 3 s in all; Slack does not repeat a click or a command. */
const PERSON = 1000
/** https://docs.slack.dev/apis/events-api#retries: at once, after 1 and 5 min. */
const LAST_RETRY = 3
/** Nobody waits for what is read back from history, and it does not come again. */
const READ_BACK = 120_000

/** How long a payload may wait for what it needs of Slack (ms), and whether it comes again where it is refused then. */
export function patienceWith({ payload, retry }: Delivery) {
  if (payload.event === undefined) return { patience: PERSON, comesAgain: false }
  // Only what Slack delivers has an id.
  if (payload.event_id === undefined) return { patience: READ_BACK, comesAgain: false }
  return { patience: EVENT, comesAgain: retry < LAST_RETRY }
}

/**
 * Whether somebody of another workspace did it, through a channel that both share
 * (https://docs.slack.dev/apis/slack-connect). Who cannot be told in such a channel counts as one of them.
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

/** What was read of a payload, before names are looked up and files are fetched, and how it can be answered. */
export type Draft = Target & {
  /** Stable over Slack's retries, and the same for one message however it is delivered. */
  key: string
  event: string | string[]
  /** The thread is that of another message, which has to be asked for. */
  threadUnknown?: boolean
  /** It answers in a thread that the bot was called in or began, or it has to be looked up whether the bot is in it. */
  inThread?: 'mine' | 'unknown' | undefined
  user: string
  /** As another bot calls itself. */
  userName?: string | undefined
  /** The message's own timestamp, Slack's id of it in its channel; clicks and commands have none. */
  ts?: string | undefined
  mention?: boolean
  alone?: boolean
  content?: Content
  files?: JsonObject[]
  /** Why it starts nothing on the roads; Bolt apps hear it all the same. */
  unwanted?: string | undefined
  /** What only this kind of event has: command, action, reaction, … */
  extra: JsonObject
}

/** What was read, or in words why it starts nothing. It is acknowledged all the same. */
export type Read = Draft | string

/** Of these events `ts` is not that of the message that they tell of. */
const ABOUT_OTHERS = new Set<unknown>(['message_changed', 'message_deleted', 'message_replied'])

/**
 * What tells one event for a Bolt app from another, however often and by which way it comes. Slack sends a post as `message` and as
 * `app_mention`, and both are read back from history without an id.
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
 * Whether listeners say when a payload is acknowledged, and with what: of all but events; and of the start of a workflow's step,
 * which Slack repeats to an app that has none of that name.
 */
export function isAcknowledgedByApp(payload: JsonObject): boolean {
  return payload.type !== 'event_callback' || textAt(payload, 'event.type') === 'function_executed'
}
