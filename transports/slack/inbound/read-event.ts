import type { JsonObject } from '../../../src/core/json.ts'
import { conversationOf } from '../conversation.ts'
import { defined, objectAt, objectsAt, textAt } from '../fields.ts'
import type { SlackOptions } from '../options.ts'
import type { Workspace, Workspaces } from '../workspaces.ts'
import type { Draft, Read } from './draft.ts'
import { shownIn } from './shown.ts'

/** What people write; every other subtype is Slack telling of itself. */
const WRITTEN = new Set(['file_share', 'thread_broadcast', 'me_message', 'bot_message'])

/** What an event is read against: where it came, and how to know our own messages. */
type Here = {
  workspace: Workspace
  options: SlackOptions
  isOwnBot: Workspaces['isOwnBot']
  /** The app that the event was delivered to, where Slack says so. */
  appId: string | undefined
}

/**
 * Reads an Events API callback (https://docs.slack.dev/apis/events-api): messages, mentions, edits, deletions and
 * reactions. Own messages, those of other bots (unless allowed) and what Slack says of itself start nothing. What
 * happens to a message that was there already is a notice: only routes that ask for it answer.
 */
export function readEvent(
  callback: JsonObject,
  workspace: Workspace,
  options: SlackOptions,
  { isOwnBot }: Pick<Workspaces, 'isOwnBot'>,
): Read {
  const here = { workspace, options, isOwnBot, appId: textAt(callback, 'api_app_id') }
  const event = objectAt(callback, 'event')
  const eventId = textAt(callback, 'event_id') ?? textAt(event, 'event_ts') ?? ''
  const key = `${workspace.team}:${eventId}`
  switch (event.type) {
    case 'message':
      return readMessage(event, key, here)
    case 'app_mention':
      return written(event, here)
    case 'reaction_added':
    case 'reaction_removed':
      return readReaction(event, key, here)
    default:
      return { skip: `events of type ${String(event.type)} start nothing` }
  }
}

function readMessage(event: JsonObject, key: string, here: Here): Read {
  const subtype = textAt(event, 'subtype')
  if (subtype === 'message_changed') return readEdit(event, key, here)
  if (subtype === 'message_deleted') return readDeletion(event, key, here)
  if (subtype !== undefined && !WRITTEN.has(subtype)) return { skip: `the subtype ${subtype} starts nothing` }
  return written(event, here)
}

function written(event: JsonObject, here: Here): Read {
  const skip = unwanted(event, here)
  if (skip !== undefined) return { skip }
  const draft = draftOf(event, event, here)
  if (!draft) return { skip: 'it names no channel, author or time' }
  return {
    draft: {
      ...draft,
      key: keyOf(draft),
      event: draft.mention ? ['app_mention', 'message'] : 'message',
      source: event.type === 'app_mention' ? 'app_mention' : 'message',
    },
  }
}

/**
 * A message is told as `message`, as `app_mention`, or as both, so its key is its own. Once it mentions the bot it is
 * another one: a mention may be added by an edit, of which Slack tells as `message_changed`, as `app_mention` (as of
 * every later edit), or as both.
 */
function keyOf({ team, channel, ts, mention, direct }: Omit<Draft, 'key' | 'event'>): string {
  // What is written directly is for the bot anyhow.
  return `${team}:${channel}:${ts}${mention && !direct ? ':mention' : ''}`
}

function readEdit(event: JsonObject, key: string, here: Here): Read {
  const message = objectAt(event, 'message')
  const before = objectAt(event, 'previous_message')
  // The root of a thread leaves a stone behind when it is deleted, of which Slackbot is the author.
  if (message.subtype === 'tombstone')
    return readDeletion({ ...event, deleted_ts: message.ts ?? '' }, key, here)
  const skip = unwanted(message, here)
  if (skip !== undefined) return { skip }
  // Slack also tells of previews that it added and of replies that it counted.
  if (message.text === before.text) return { skip: 'the text did not change' }
  const draft = draftOf(event, message, here)
  if (!draft) return { skip: 'it names no channel, author or time' }
  const extra = defined({ ...draft.extra, previousText: textAt(before, 'text') })
  // What is written directly was for the bot before, and has its answer.
  if (draft.mention && !draft.direct && !mentions(before, here.workspace.botUser)) {
    const kinds = ['app_mention', 'message', 'message_changed']
    return { draft: { ...draft, key: keyOf(draft), event: kinds, source: 'message', extra } }
  }
  return {
    draft: { ...draft, key, event: 'message_changed', files: [], extra: { ...extra, notice: true } },
  }
}

function readDeletion(event: JsonObject, key: string, here: Here): Read {
  const before = objectAt(event, 'previous_message')
  const skip = unwanted(before, here)
  if (skip !== undefined) return { skip }
  const draft = draftOf(event, { ts: event.deleted_ts ?? '', ...before }, here)
  if (!draft) return { skip: 'it names no channel, author or time' }
  const { blocks: _blocks, shown: _shown, ...rest } = draft
  const extra = defined({ ...draft.extra, notice: true, previousText: textAt(before, 'text') })
  return { draft: { ...rest, key, event: 'message_deleted', text: '', files: [], mention: false, extra } }
}

function readReaction(event: JsonObject, key: string, here: Here): Read {
  const { workspace, options, isOwnBot } = here
  const channel = textAt(event, 'item.channel')
  const ts = textAt(event, 'item.ts')
  const user = textAt(event, 'user')
  if (!channel || !ts || !user) return { skip: 'it is no reaction on a message' }
  if (isOwnBot(user)) return { skip: 'it is our own reaction' }
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

function unwanted(message: JsonObject, here: Here): string | undefined {
  if (isOwn(message, here)) return 'it is our own message'
  if (message.user === 'USLACKBOT') return 'it is of Slackbot'
  const isBot = message.bot_id !== undefined || message.subtype === 'bot_message'
  return isBot && !here.options['allow-bots'] ? 'it is of another bot' : undefined
}

/**
 * In a channel that workspaces share, the app is there as one bot of each. Those with a token here are known; of the
 * others Slack says whose app it is. What a webhook of the app posts has no user, and is not from us.
 */
function isOwn(message: JsonObject, { isOwnBot, appId }: Here): boolean {
  const user = textAt(message, 'user')
  const bot = textAt(message, 'bot_id')
  if ((user !== undefined && isOwnBot(user)) || (bot !== undefined && isOwnBot(bot))) return true
  return bot !== undefined && user !== undefined && appId !== undefined && message.app_id === appId
}

function draftOf(
  event: JsonObject,
  message: JsonObject,
  { workspace, options }: Here,
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
  const shown = shownIn(message)
  return {
    ...place,
    user,
    ...(userName === undefined ? {} : { userName }),
    ts,
    direct: event.channel_type === 'im' || isDirect(channel),
    mention: event.type === 'app_mention' || mentions(message, workspace.botUser),
    text,
    ...(Array.isArray(message.blocks) ? { blocks: message.blocks } : {}),
    ...(shown ? { shown } : {}),
    files: objectsAt(message, 'files'),
    extra: defined({ channelType: textAt(event, 'channel_type') }),
    conversation: conversationOf(place),
    target: { ...place, ...(inThread === undefined && thread ? { startsThread: true as const } : {}), user },
  }
}

/** Bots may say it in blocks only; in what people write the text has it all. */
function mentions(message: JsonObject, botUser: string): boolean {
  if (names(textAt(message, 'text') ?? '', botUser)) return true
  if (message.bot_id === undefined || message.blocks === undefined) return false
  const blocks = JSON.stringify(message.blocks)
  return names(blocks, botUser) || blocks.includes(`"user_id":"${botUser}"`)
}

/** Another id may begin like this one. */
function names(text: string, user: string): boolean {
  return text.includes(`<@${user}>`) || text.includes(`<@${user}|`)
}

function threads(channel: string, options: SlackOptions): 'reply' | 'channel' {
  return (isDirect(channel) ? options['direct-threads'] : undefined) ?? options.threads
}

function isDirect(channel: string): boolean {
  return channel.startsWith('D')
}
