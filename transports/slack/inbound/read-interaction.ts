import { isJsonObject, type Json, type JsonObject } from '../../../src/core/json.ts'
import { conversationOf, type Target } from '../conversation.ts'
import { defined, objectAt, objectsAt, textAt } from '../fields.ts'
import type { SlackOptions } from '../options.ts'
import { APPROVAL_ACTIONS } from '../outbound/approval-blocks.ts'
import { openMetadata } from '../view-metadata.ts'
import type { Workspace } from '../workspaces.ts'
import type { Draft, Read } from './draft.ts'
import { shownIn } from './shown.ts'

/** https://docs.slack.dev/interactivity/handling-user-interaction: a response URL works for 30 minutes. */
const RESPONSE_URL_LIFE = 30 * 60_000

/** What Slack says in place of the names of private channels and direct messages. */
const NO_NAMES = new Set(['privategroup', 'directmessage'])

/** The installation that an interaction is of. */
type Installation = Pick<Workspace, 'team' | 'token'>

type Place = Pick<Target, 'team' | 'channel' | 'thread' | 'startsThread'>

/** Reads a slash command (https://docs.slack.dev/interactivity/implementing-slash-commands). */
export function readCommand(payload: JsonObject, team: string, options: SlackOptions, now: number): Read {
  const command = textAt(payload, 'command')
  const user = textAt(payload, 'user_id')
  const channel = textAt(payload, 'channel_id')
  if (!command || !user || !channel) return { skip: 'it names no command, user or channel' }
  const place: Place = { team, channel }
  const responseUrl = options.commands === 'ephemeral' ? textAt(payload, 'response_url') : undefined
  const triggerId = textAt(payload, 'trigger_id')
  const userName = textAt(payload, 'user_name')
  const channelName = channelNameAt(payload, 'channel_name')
  return {
    draft: {
      ...plain(place, user),
      key: `${team}:command:${triggerId ?? `${user}:${now}`}`,
      event: 'slash_command',
      ...(userName === undefined ? {} : { userName }),
      ...(channelName === undefined ? {} : { channelName }),
      text: textAt(payload, 'text') ?? '',
      // With and without the slash: both are natural in `match`.
      extra: { command: [command, command.replace(/^\//, '')] },
      // What one person asks in a channel, nobody else sees; so it is a conversation of its own.
      conversation: `${conversationOf(place)}:${user}`,
      target: {
        ...place,
        user,
        ...(responseUrl === undefined ? {} : { responseUrl, responseUntil: now + RESPONSE_URL_LIFE }),
        ...(triggerId === undefined ? {} : { triggerId }),
      },
    },
  }
}

/** Reads an interaction: a button or select, a submitted or closed modal, a shortcut. */
export function readInteraction(
  payload: JsonObject,
  workspace: Installation,
  options: SlackOptions,
  now: number,
): Read {
  switch (payload.type) {
    case 'block_actions':
      return readAction(payload, workspace, options, now)
    case 'view_submission':
    case 'view_closed':
      return readView(payload, workspace)
    case 'shortcut':
    case 'message_action':
      return readShortcut(payload, workspace, options)
    default:
      return { skip: `interactions of type ${String(payload.type)} start nothing` }
  }
}

function readAction(payload: JsonObject, workspace: Installation, options: SlackOptions, now: number): Read {
  const [action] = objectsAt(payload, 'actions')
  const user = textAt(payload, 'user.id')
  if (!action || !user) return { skip: 'it names no action or user' }
  const place = placeOf(payload, workspace, user, options)
  const actionId = textAt(action, 'action_id') ?? ''
  const value = chosenIn(action)
  const decision = isInView(payload) ? undefined : APPROVAL_ACTIONS[actionId]
  const approval = decision === undefined || typeof value !== 'string' ? undefined : { id: value, decision }
  const draft = clicked(place, user, payload)
  return {
    draft: {
      ...(isEphemeral(payload) ? whispered(draft, payload, now) : draft),
      key: `${workspace.team}:action:${textAt(payload, 'trigger_id') ?? ''}:${textAt(action, 'action_ts') ?? ''}`,
      event: 'block_actions',
      text: typeof value === 'string' ? value : '',
      extra: defined({
        action: actionId,
        blockId: textAt(action, 'block_id'),
        value,
        values: payload.state === undefined ? undefined : objectAt(payload, 'state.values'),
        messageTs: textAt(payload, 'container.message_ts'),
        approval,
      }),
    },
  }
}

function readView(payload: JsonObject, workspace: Installation): Read {
  const user = textAt(payload, 'user.id')
  const view = objectAt(payload, 'view')
  if (!user) return { skip: 'it names no user' }
  const place = placeOfView(view, workspace, user)
  const ids = [textAt(view, 'id'), textAt(view, 'hash') ?? textAt(payload, 'trigger_id')]
  return {
    draft: {
      ...clicked(place, user, payload),
      key: `${workspace.team}:${String(payload.type)}:${ids.join(':')}`,
      event: String(payload.type),
      text: '',
      extra: defined({
        action: textAt(view, 'callback_id'),
        values: objectAt(view, 'state.values'),
        metadata: openMetadata(textAt(view, 'private_metadata'), { user, workspace }).own,
      }),
    },
  }
}

function readShortcut(payload: JsonObject, workspace: Installation, options: SlackOptions): Read {
  const user = textAt(payload, 'user.id')
  if (!user) return { skip: 'it names no user' }
  const ids = [textAt(payload, 'trigger_id'), textAt(payload, 'action_ts')]
  const shown = shownIn(objectAt(payload, 'message'))
  return {
    draft: {
      ...clicked(placeOf(payload, workspace, user, options), user, payload),
      key: `${workspace.team}:shortcut:${ids.join(':')}`,
      event: String(payload.type),
      text: textAt(payload, 'message.text') ?? '',
      ...(shown ? { shown } : {}),
      extra: defined({ action: textAt(payload, 'callback_id') }),
    },
  }
}

/** Where an interaction took place: the thread of the message it was on, or where its modal was opened. */
function placeOf(payload: JsonObject, workspace: Installation, user: string, options: SlackOptions): Place {
  const { team } = workspace
  const channel = textAt(payload, 'channel.id') ?? textAt(payload, 'container.channel_id')
  if (channel === undefined) return placeOfView(objectAt(payload, 'view'), workspace, user)
  const mode = (channel.startsWith('D') ? options['direct-threads'] : undefined) ?? options.threads
  // What only one person sees starts no thread: its timestamp is known to nobody else.
  const own =
    mode === 'reply' && !isEphemeral(payload)
      ? (textAt(payload, 'message.ts') ?? textAt(payload, 'container.message_ts'))
      : undefined
  const thread = textAt(payload, 'message.thread_ts') ?? textAt(payload, 'container.thread_ts')
  if (thread !== undefined) return { team, channel, thread }
  return { team, channel, ...(own === undefined ? {} : { thread: own, startsThread: true }) }
}

/** Where a modal was opened, as its opening sealed it; without, the user's direct messages. */
function placeOfView(view: JsonObject, workspace: Installation, user: string): Place {
  const { place } = openMetadata(textAt(view, 'private_metadata'), { user, workspace })
  return { team: workspace.team, ...(place ?? { channel: user }) }
}

function plain(place: Place, user: string): Omit<Draft, 'key' | 'event' | 'extra' | 'text'> {
  return {
    ...place,
    user,
    direct: /^[DUW]/.test(place.channel),
    mention: false,
    files: [],
    conversation: conversationOf(place),
    target: { ...place, user },
  }
}

function clicked(place: Place, user: string, payload: JsonObject): ReturnType<typeof plain> {
  const draft = { ...plain(place, user), ...named(payload) }
  const triggerId = textAt(payload, 'trigger_id')
  if (triggerId === undefined) return draft
  const inModal = payload.type === 'block_actions' && textAt(payload, 'view.type') === 'modal'
  return { ...draft, target: { ...draft.target, triggerId, ...(inModal ? { inModal: true as const } : {}) } }
}

/** Approvals are asked in posts, which only Trivium gives such buttons. */
function isInView(payload: JsonObject): boolean {
  return payload.view !== undefined || textAt(payload, 'container.type') === 'view'
}

function isEphemeral(payload: JsonObject): boolean {
  return objectAt(payload, 'container').is_ephemeral === true
}

/** What was clicked on only this person saw; so the answer goes to them, as that of a command does. */
function whispered(
  draft: ReturnType<typeof plain>,
  payload: JsonObject,
  now: number,
): ReturnType<typeof plain> {
  const responseUrl = textAt(payload, 'response_url')
  const response = responseUrl === undefined ? {} : { responseUrl, responseUntil: now + RESPONSE_URL_LIFE }
  return {
    ...draft,
    conversation: `${draft.conversation}:${draft.user}`,
    target: { ...draft.target, ...response },
  }
}

function named(payload: JsonObject): { userName?: string; channelName?: string } {
  const userName = textAt(payload, 'user.name') ?? textAt(payload, 'user.username')
  const channelName = channelNameAt(payload, 'channel.name')
  return {
    ...(userName === undefined ? {} : { userName }),
    ...(channelName === undefined ? {} : { channelName }),
  }
}

/** A name that Slack told; undefined where it has to be looked up. */
function channelNameAt(payload: JsonObject, path: string): string | undefined {
  const name = textAt(payload, path)
  return name === undefined || NO_NAMES.has(name) ? undefined : name
}

/** What was chosen, whichever kind of element it was. */
function chosenIn(action: JsonObject): Json | undefined {
  const chosen = textAt(action, 'value') ?? textAt(action, 'selected_option.value')
  if (chosen !== undefined) return chosen
  const options = objectsAt(action, 'selected_options').flatMap((option) => option.value ?? [])
  if (Array.isArray(action.selected_options)) return options
  for (const [key, value] of Object.entries(action)) {
    if (key.startsWith('selected_') && !isJsonObject(value)) return value
  }
  return undefined
}
