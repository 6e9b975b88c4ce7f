import type { JsonObject } from '../../../src/core/json.ts'
import { conversationOf } from '../conversation.ts'
import { defined, objectAt, objectsAt, textAt } from '../fields.ts'
import type { SlackOptions } from '../options.ts'
import type { Workspace } from '../workspaces.ts'
import type { Draft, Read } from './draft.ts'

/** What people write; every other subtype is Slack telling of itself. */
const WRITTEN = new Set(['file_share', 'thread_broadcast', 'me_message', 'bot_message'])

/**
 * Reads an Events API callback (https://docs.slack.dev/apis/events-api): messages, mentions, edits, deletions and
 * reactions. Own messages, those of other bots (unless allowed) and what Slack says of itself start nothing. What
 * happens to a message that was there already is a notice: only routes that ask for it answer.
 */
export function readEvent(callback: JsonObject, workspace: Workspace, options: SlackOptions): Read {
  const event = objectAt(callback, 'event')
  const eventId = textAt(callback, 'event_id') ?? textAt(event, 'event_ts') ?? ''
  const key = `${workspace.team}:${eventId}`
  switch (event.type) {
    case 'message':
      return readMessage(event, key, workspace, options)
    case 'app_mention':
      return written(event, workspace, options)
    case 'reaction_added':
    case 'reaction_removed':
      return readReaction(event, key, workspace, options)
    default:
      return { skip: `events of type ${String(event.type)} start nothing` }
  }
}

function readMessage(event: JsonObject, key: string, workspace: Workspace, options: SlackOptions): Read {
  const subtype = textAt(event, 'subtype')
  if (subtype === 'message_changed') return readEdit(event, key, workspace, options)
  if (subtype === 'message_deleted') return readDeletion(event, key, workspace, options)
  if (subtype !== undefined && !WRITTEN.has(subtype)) return { skip: `the subtype ${subtype} starts nothing` }
  return written(event, workspace, options)
}

/** A message, told as `message`, as `app_mention`, or as both: it is one message, so its key is its own. */
function written(event: JsonObject, workspace: Workspace, options: SlackOptions): Read {
  const skip = unwanted(event, workspace, options)
  if (skip !== undefined) return { skip }
  const draft = draftOf(event, event, workspace, options)
  if (!draft) return { skip: 'it names no channel, author or time' }
  const { mention, channel, ts } = draft
  return {
    draft: {
      ...draft,
      key: `${workspace.team}:${channel}:${ts}`,
      event: mention ? ['app_mention', 'message'] : 'message',
      source: event.type === 'app_mention' ? 'app_mention' : 'message',
    },
  }
}

function readEdit(event: JsonObject, key: string, workspace: Workspace, options: SlackOptions): Read {
  const message = objectAt(event, 'message')
  const before = objectAt(event, 'previous_message')
  const skip = unwanted(message, workspace, options)
  if (skip !== undefined) return { skip }
  // Slack also tells of previews that it added and of replies that it counted.
  if (message.text === before.text) return { skip: 'the text did not change' }
  const draft = draftOf(event, message, workspace, options)
  if (!draft) return { skip: 'it names no channel, author or time' }
  const extra = defined({ notice: true, previousText: textAt(before, 'text') })
  return { draft: { ...draft, key, event: 'message_changed', files: [], extra } }
}

function readDeletion(event: JsonObject, key: string, workspace: Workspace, options: SlackOptions): Read {
  const before = objectAt(event, 'previous_message')
  const skip = unwanted(before, workspace, options)
  if (skip !== undefined) return { skip }
  const draft = draftOf(event, { ts: event.deleted_ts ?? '', ...before }, workspace, options)
  if (!draft) return { skip: 'it names no channel, author or time' }
  const { blocks: _blocks, ...rest } = draft
  const extra = defined({ notice: true, previousText: textAt(before, 'text') })
  return { draft: { ...rest, key, event: 'message_deleted', text: '', files: [], mention: false, extra } }
}

function readReaction(event: JsonObject, key: string, workspace: Workspace, options: SlackOptions): Read {
  const channel = textAt(event, 'item.channel')
  const ts = textAt(event, 'item.ts')
  const user = textAt(event, 'user')
  if (user === workspace.botUser) return { skip: 'it is our own reaction' }
  if (!channel || !ts || !user) return { skip: 'it is no reaction on a message' }
  const thread = threads(channel, options) === 'reply' ? ts : undefined
  const place = { team: workspace.team, channel, ...(thread === undefined ? {} : { thread }) }
  return {
    draft: {
      ...place,
      key,
      event: String(event.type),
      user,
      ts,
      direct: isDirect(channel),
      mention: false,
      text: '',
      files: [],
      extra: defined({
        notice: true,
        reaction: textAt(event, 'reaction'),
        itemUser: textAt(event, 'item_user'),
      }),
      conversation: conversationOf(place),
      target: { ...place, user },
      ...(thread === undefined ? {} : { threadUnknown: true }),
    },
  }
}

function unwanted(message: JsonObject, workspace: Workspace, options: SlackOptions): string | undefined {
  const bot = textAt(message, 'bot_id')
  if (message.user === workspace.botUser || (bot !== undefined && bot === workspace.botId)) {
    return 'it is our own message'
  }
  if (message.user === 'USLACKBOT') return 'it is of Slackbot'
  const isBot = bot !== undefined || message.subtype === 'bot_message'
  return isBot && !options['allow-bots'] ? 'it is of another bot' : undefined
}

function draftOf(
  event: JsonObject,
  message: JsonObject,
  workspace: Workspace,
  options: SlackOptions,
): Omit<Draft, 'key' | 'event'> | undefined {
  const channel = textAt(event, 'channel')
  const user = textAt(message, 'user') ?? textAt(message, 'bot_id')
  const ts = textAt(message, 'ts')
  if (channel === undefined || user === undefined || ts === undefined) return undefined
  const inThread = textAt(message, 'thread_ts')
  const thread = inThread ?? (threads(channel, options) === 'reply' ? ts : undefined)
  const place = { team: workspace.team, channel, ...(thread === undefined ? {} : { thread }) }
  const text = textAt(message, 'text') ?? ''
  const userName = textAt(message, 'username')
  return {
    ...place,
    user,
    ...(userName === undefined ? {} : { userName }),
    ts,
    direct: event.channel_type === 'im' || isDirect(channel),
    mention: event.type === 'app_mention' || text.includes(`<@${workspace.botUser}`),
    text,
    ...(Array.isArray(message.blocks) ? { blocks: message.blocks } : {}),
    files: objectsAt(message, 'files'),
    extra: defined({ channelType: textAt(event, 'channel_type') }),
    conversation: conversationOf(place),
    target: { ...place, user },
  }
}

function threads(channel: string, options: SlackOptions): 'reply' | 'channel' {
  return (isDirect(channel) ? options['direct-threads'] : undefined) ?? options.threads
}

function isDirect(channel: string): boolean {
  return channel.startsWith('D')
}
