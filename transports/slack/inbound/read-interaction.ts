import { randomUUID } from 'node:crypto'
import { type Json, type JsonObject, objectAt, objectsAt, textAt } from '../../../src/core/json.ts'
import { defined } from '../../../src/lib/defined.ts'
import type { Target } from '../conversation.ts'
import type { SlackOptions } from '../options.ts'
import { APPROVAL_ACTIONS } from '../outbound/extras.ts'
import { contentOf } from './content.ts'
import type { Delivery, Draft, Read } from './delivery.ts'
import { threadsIn } from './read-event.ts'

/** What one kind of interaction says of itself. */
type Said = Pick<Draft, 'key' | 'extra' | 'content'>

/** Reads a slash command (https://docs.slack.dev/interactivity/implementing-slash-commands). */
export function readCommand({ payload, workspace: { team } }: Delivery, options: SlackOptions): Read {
  const command = textAt(payload, 'command')
  const user = textAt(payload, 'user_id')
  const channel = textAt(payload, 'channel_id')
  if (!command || !user || !channel) return 'it names no command, user or channel'
  const triggerId = textAt(payload, 'trigger_id')
  return {
    ...{ team, channel, user },
    key: `${team}:command:${triggerId ?? randomUUID()}`,
    event: 'slash_command',
    content: contentOf({ text: textAt(payload, 'text') ?? '' }),
    // With and without the slash: both are natural in `match`.
    extra: { command: [command, command.replace(/^\//, '')] },
    alone: true,
    responseUrl: options.commands === 'ephemeral' ? textAt(payload, 'response_url') : undefined,
    triggerId,
  }
}

/** Reads an interaction: a button or select, a submitted or closed modal, a shortcut, or one that is new to us. */
export function readInteraction(delivery: Delivery, options: SlackOptions): Read {
  const { payload, workspace } = delivery
  const { type } = payload
  const user = textAt(payload, 'user.id')
  if (!user) return 'it names no user'
  const said = (SAID[String(type)] ?? saidByShortcut)(payload)
  // What was clicked on only this person saw; so the answer goes to them, as that of a command does.
  const alone = isEphemeral(payload)
  const place = placeOf(delivery, user, options)
  return {
    ...place,
    user,
    event: String(type),
    alone,
    inModal: (type === 'block_actions' && textAt(payload, 'view.type') === 'modal') || undefined,
    triggerId: textAt(payload, 'trigger_id'),
    responseUrl: alone ? textAt(payload, 'response_url') : undefined,
    ...said,
    key: `${workspace.team}:${said.key}`,
  }
}

function saidByShortcut(payload: JsonObject): Said {
  return {
    key: `shortcut:${textAt(payload, 'trigger_id') ?? ''}:${textAt(payload, 'action_ts') ?? ''}`,
    content: contentOf(objectAt(payload, 'message')),
    extra: defined({ action: textAt(payload, 'callback_id') }),
  }
}

function saidByClick(payload: JsonObject): Said {
  const [action = {}] = objectsAt(payload, 'actions')
  const actionId = textAt(action, 'action_id') ?? ''
  const value = chosenIn(action)
  const decision = APPROVAL_ACTIONS[actionId]
  return {
    key: `action:${textAt(payload, 'trigger_id') ?? ''}:${textAt(action, 'action_ts') ?? ''}`,
    content: contentOf({ text: typeof value === 'string' ? value : '' }),
    extra: defined({
      action: actionId,
      blockId: textAt(action, 'block_id'),
      value,
      values: payload.state === undefined ? undefined : objectAt(payload, 'state.values'),
      messageTs: textAt(payload, 'container.message_ts'),
      approval: decision && typeof value === 'string' ? { id: value, decision } : undefined,
    }),
  }
}

function saidByView(payload: JsonObject): Said {
  const view = objectAt(payload, 'view')
  const serial = textAt(view, 'hash') ?? textAt(payload, 'trigger_id')
  return {
    key: `${String(payload.type)}:${[textAt(view, 'id'), serial].join(':')}`,
    extra: defined({
      action: textAt(view, 'callback_id'),
      values: objectAt(view, 'state.values'),
      metadata: textAt(view, 'private_metadata'),
    }),
  }
}

const SAID: Record<string, (payload: JsonObject) => Said> = {
  block_actions: saidByClick,
  view_submission: saidByView,
  view_closed: saidByView,
}

/** Where it was done. In a modal that is where it was opened, else the user's direct messages. */
function placeOf({ payload, workspace, opened }: Delivery, user: string, options: SlackOptions): Target {
  const { team } = workspace
  const channel = textAt(payload, 'channel.id') ?? textAt(payload, 'container.channel_id')
  if (channel === undefined) return { team, ...(opened ?? { channel: user }) }
  const thread = textAt(payload, 'message.thread_ts') ?? textAt(payload, 'container.thread_ts')
  if (thread !== undefined) return { team, channel, thread }
  const ts = textAt(payload, 'message.ts') ?? textAt(payload, 'container.message_ts')
  // What only one person sees starts no thread: its timestamp is known to nobody else.
  const startsThread = ts !== undefined && threadsIn(channel, options) === 'reply' && !isEphemeral(payload)
  return startsThread ? { team, channel, thread: ts, startsThread } : { team, channel }
}

function isEphemeral(payload: JsonObject): boolean {
  return objectAt(payload, 'container').is_ephemeral === true
}

/** What was chosen, whichever kind of element it was: a text, an option, or several. */
function chosenIn(action: JsonObject): Json | undefined {
  const keys = ['value', ...Object.keys(action).filter((key) => key.startsWith('selected_'))]
  const [chosen] = keys.flatMap((key) => (action[key] == null ? [] : [action[key]]))
  return Array.isArray(chosen) ? chosen.map(optionOf) : optionOf(chosen)
}

function optionOf<T>(option: T): T | string {
  return textAt(option, 'value') ?? option
}
