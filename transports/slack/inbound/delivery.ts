import { isJsonObject, type JsonObject } from '../../../src/core/json.ts'
import { objectAt, objectsAt, textAt } from '../fields.ts'
import type { Workspace, Workspaces } from '../workspaces.ts'

/** The kinds of payload that Slack delivers, on either road. */
export type PayloadKind = 'event' | 'command' | 'interaction'

/** How long a payload may wait for what it needs of Slack (ms), and whether it comes again where it is refused then. */
export type Delivery = { patience: number; comesAgain: boolean }

/** Slack waits 3 s for the acknowledgement of an event, and the store needs its time too. */
const EVENT = 2000
/** A person waits, and may have a modal opened only for 3 s in all; Slack does not repeat a click or a command. */
const PERSON = 1000
/** https://docs.slack.dev/apis/events-api#retries: at once, after 1 and 5 min; what is older (ms) comes for the last time. */
const LAST_RETRY = 3
const LAST_CHANCE = 180_000
/** Nobody waits for what is read back from history, and it does not come again. */
const READ_BACK = 120_000

/** What is known of the delivery of a payload; `now` in Unix ms. */
export function deliveryOf(kind: PayloadKind, payload: JsonObject, now: number): Delivery {
  if (kind !== 'event') return { patience: PERSON, comesAgain: false }
  // Only what Slack delivers has an id.
  if (payload.event_id === undefined) return { patience: READ_BACK, comesAgain: false }
  const event = objectAt(payload, 'event')
  const age = now - Number(event.event_ts ?? event.ts) * 1000
  const isLast = Number(payload.retry_attempt ?? 0) >= LAST_RETRY
  return { patience: EVENT, comesAgain: !isLast && age < LAST_CHANCE }
}

/** Whose payload it is: the installation that it is delivered to. Undefined where there is no bot token for it. */
export function workspaceOf(payload: JsonObject, workspaces: Workspaces): Workspace | undefined {
  const authorized = objectsAt(payload, 'authorizations').map((each) => textAt(each, 'team_id'))
  const found = authorized.map((team) => workspaces.find(team ?? '')).find(Boolean)
  if (found) return found
  // A modal may be sent by somebody of another workspace that shares the channel; `team` is theirs then.
  const installed = textAt(payload, 'view.app_installed_team_id')
  const claimed =
    installed ?? textAt(payload, 'team_id') ?? textAt(payload, 'team.id') ?? textAt(payload, 'user.team_id')
  if (claimed !== undefined) return workspaces.find(claimed)
  // An app of a whole organisation names none.
  return authorized.some((team) => team !== undefined) ? undefined : workspaces.only()
}

/**
 * Whether somebody of another workspace did it, through a channel that both share
 * (https://docs.slack.dev/apis/slack-connect). Who cannot be told in such a channel counts as one of them.
 */
export function isExternal(payload: JsonObject, { team }: Pick<Workspace, 'team'>): boolean {
  const event = objectAt(payload, 'event')
  const isShared = payload.is_ext_shared_channel
  // Channels of one organisation have people of several workspaces, and are not shared with others.
  if (isShared === false || payload.is_enterprise_install === true) return false
  const changed = event.message ?? event.previous_message
  const written = isJsonObject(changed) ? changed : event
  const home = textAt(payload, 'user.team_id') ?? textAt(written, 'user_team') ?? textAt(written, 'team')
  return home === undefined ? isShared === true : home !== team
}
