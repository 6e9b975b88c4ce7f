import { randomUUID } from 'node:crypto'
import { type Json, type JsonObject, objectAt, textAt } from '../../../src/core/json.ts'
import { defined } from '../../../src/lib/defined.ts'
import type { Target } from '../conversation.ts'
import type { SlackOptions } from '../options.ts'
import { APPROVAL_ACTIONS, HANDOVER_ACTIONS, STOP_ACTION } from '../outbound/post-blocks.ts'
import { contentOf } from './content.ts'
import type { Delivery, Draft, Read } from './delivery.ts'
import { threadsIn } from './read-event.ts'

/** Reads a slash command (https://docs.slack.dev/interactivity/implementing-slash-commands). */
export function readCommand({ payload, workspace: { team } }: Delivery, options: SlackOptions): Read {
  const command = textAt(payload, 'command')
  const user = textAt(payload, 'user_id')
  const channel = textAt(payload, 'channel_id')
  if (!command || !user || !channel) return { ignored: 'it names no command, user or channel' }
  const triggerId = textAt(payload, 'trigger_id')
  return {
    team,
    channel,
    user,
    key: `${team}:command:${triggerId ?? randomUUID()}`,
    event: 'slash_command',
    content: contentOf({ text: textAt(payload, 'text') ?? '' }),
    // With and without the slash, because both are natural in `match`.
    extra: { command: [command, command.replace(/^\//, '')] },
    alone: true,
    responseUrl: options.commands === 'ephemeral' ? textAt(payload, 'response_url') : undefined,
    triggerId,
  }
}

/**
 * Reads an interaction: a button or select, a submitted or closed modal, a shortcut, or an unknown
 * one.
 */
export function readInteraction(delivery: Delivery, options: SlackOptions): Read {
  const { payload, workspace } = delivery
  const { type } = payload
  const user = textAt(payload, 'user.id')
  if (!user) return { ignored: 'it names no user' }
  const details = detailsOf(payload)
  // Only this person saw the message, so the answer goes only to them, as for a command.
  const alone = isEphemeral(payload)
  return {
    ...placeOf(delivery, user, options),
    user,
    event: String(type),
    alone,
    inModal: (type === 'block_actions' && textAt(payload, 'view.type') === 'modal') || undefined,
    triggerId: textAt(payload, 'trigger_id'),
    clicked: alone ? undefined : clickedPost(payload),
    responseUrl: alone ? textAt(payload, 'response_url') : undefined,
    ...details,
    key: `${workspace.team}:${details.key}`,
  }
}

/** The timestamp of the post whose button, select or old attachment was used. */
function clickedPost(payload: JsonObject): string | undefined {
  if (payload.type === 'interactive_message') return textAt(payload, 'message_ts')
  if (payload.type !== 'block_actions') return undefined
  return textAt(payload, 'container.message_ts') ?? textAt(payload, 'message.ts')
}

/** Key and content of a modal, shortcut or click. */
function detailsOf(payload: JsonObject): Pick<Draft, 'key' | 'extra' | 'content'> {
  const { type, state } = payload
  const at = (path: string) => textAt(payload, path)
  const trigger = at('trigger_id') ?? ''
  if (type === 'view_submission' || type === 'view_closed') {
    return {
      key: `${type}:${at('view.id') ?? ''}:${trigger || (at('view.hash') ?? '')}`,
      extra: defined({
        action: at('view.callback_id'),
        callback_id: at('view.callback_id'),
        values: objectAt(payload, 'view.state.values'),
        metadata: at('view.private_metadata'),
      }),
    }
  }
  if (type !== 'block_actions') {
    return {
      key: `shortcut:${trigger}:${at('action_ts') ?? ''}`,
      content: contentOf(objectAt(payload, 'message')),
      extra: defined({ action: at('callback_id'), callback_id: at('callback_id') }),
    }
  }
  const action = at('actions.0.action_id') ?? ''
  const value = chosenIn(objectAt(payload, 'actions.0'))
  // An app may name an action `constructor`.
  const decision = Object.hasOwn(APPROVAL_ACTIONS, action) && APPROVAL_ACTIONS[action]
  const handover = Object.hasOwn(HANDOVER_ACTIONS, action) && HANDOVER_ACTIONS[action]
  return {
    key: `action:${trigger}:${at('actions.0.action_ts') ?? ''}`,
    content: contentOf({ text: typeof value === 'string' ? value : '' }),
    extra: defined({
      action,
      // Stop is for the running answer, not for a skill.
      notice: action === STOP_ACTION || undefined,
      callback_id: at('view.callback_id'),
      blockId: at('actions.0.block_id'),
      value,
      values: state === undefined ? undefined : objectAt(state, 'values'),
      messageTs: at('container.message_ts'),
      approval: decision && typeof value === 'string' ? { id: value, decision } : undefined,
      handover: handover && typeof value === 'string' ? { conversation: value, action: handover } : undefined,
    }),
  }
}

/**
 * The place of an interaction. A modal belongs to the place where it was opened, or else to the
 * user's direct messages.
 */
function placeOf({ payload, workspace, opened }: Delivery, user: string, options: SlackOptions): Target {
  const { team } = workspace
  const channel = textAt(payload, 'channel.id') ?? textAt(payload, 'container.channel_id')
  if (channel === undefined) return { team, ...(opened ?? { channel: user }) }
  const thread = textAt(payload, 'message.thread_ts') ?? textAt(payload, 'container.thread_ts')
  if (thread !== undefined) return { team, channel, thread }
  const ts = textAt(payload, 'message.ts') ?? textAt(payload, 'container.message_ts')
  // An ephemeral message cannot start a thread, because its timestamp is unknown to others.
  const startsThread = ts !== undefined && threadsIn(channel, options) === 'reply' && !isEphemeral(payload)
  return startsThread ? { team, channel, thread: ts, startsThread } : { team, channel }
}

function isEphemeral(payload: JsonObject): boolean {
  return objectAt(payload, 'container').is_ephemeral === true
}

/** The chosen value of any kind of element: a text, an option, or several. */
function chosenIn(action: JsonObject): Json | undefined {
  const keys = ['value', ...Object.keys(action).filter((key) => key.startsWith('selected_'))]
  const [chosen] = keys.flatMap((key) => (action[key] == null ? [] : [action[key]]))
  return Array.isArray(chosen) ? chosen.map(optionOf) : optionOf(chosen)
}

function optionOf<T>(option: T): T | string {
  return textAt(option, 'value') ?? option
}
