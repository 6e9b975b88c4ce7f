import { randomUUID } from 'node:crypto'
import { type JsonObject, objectAt, textAt } from '../../../src/core/json.ts'
import { defined } from '../../../src/lib/defined.ts'
import type { SlackOptions } from '../options.ts'
import type { Workspaces } from '../workspaces/workspaces.ts'
import { contentOf } from './content.ts'
import type { Delivery, Draft, Read } from './delivery.ts'
import { filesIn } from './forwarded.ts'

/** Subtypes of messages written by people; all others are notices by Slack. */
const POST_SUBTYPES = new Set<unknown>([
  undefined,
  'file_share',
  'thread_broadcast',
  'me_message',
  'message_share',
  'bot_message',
])

/**
 * Context for reading an event. `key` is that of the event; its message may provide a better one.
 */
type Context = Delivery & { options: SlackOptions; isOwnBot: Workspaces['isOwnBot']; key: string }

/**
 * Reads an Events API callback (https://docs.slack.dev/apis/events-api). Messages of the bot
 * itself, of other bots (unless allowed) and of Slackbot are unwanted. Events that are not new
 * messages, such as changes of existing ones, are notices, which only match routes that ask for
 * them.
 */
export function readEvent(delivery: Delivery, options: SlackOptions, { isOwnBot }: Workspaces): Read {
  const { payload, workspace } = delivery
  const event = objectAt(payload, 'event')
  const { type, subtype } = event
  const id = textAt(payload, 'event_id') ?? textAt(event, 'event_ts') ?? randomUUID()
  const key = `${workspace.team}:${id}`
  const context = { ...delivery, options, isOwnBot, key }
  if (type === 'app_mention') return readMessage(event, context)
  if (type === undefined && payload.type === undefined) return { ignored: 'it has no type' }
  const thread = objectAt(event, 'assistant_thread')
  if (type !== 'message') return readNotice({ type: payload.type ?? '', ...event, ...thread }, context)
  // A deleted thread root leaves a tombstone by Slackbot.
  const isTombstone = textAt(event, 'message.subtype') === 'tombstone'
  if (subtype === 'message_deleted' || isTombstone) return readDeletion(event, context)
  if (subtype === 'message_changed') return readEdit(event, context)
  if (POST_SUBTYPES.has(subtype)) return readMessage(event, context)
  // These notices are in the channel, like posts, and may be read back from history. Their key is
  // their place, so that it is the same then.
  const placeKey = `${workspace.team}:${textAt(event, 'channel')}:${textAt(event, 'ts')}`
  const notice = readNotice({ ...event, type: String(subtype) }, { ...context, key: placeKey })
  return { unwantedReason: whyUnwanted(event, context), ...notice }
}

function readMessage(event: JsonObject, context: Context): Read {
  const draft = draftOf(event, event, context)
  if (!draft) return unreadable(event, context)
  return { ...draft, key: keyOf(draft), event: draft.mention ? ['app_mention', 'message'] : 'message' }
}

/**
 * A post arrives as `message`, `app_mention`, or both, so its key is independent of the event. With
 * a mention of the bot it has another key: an edit may add the mention, which Slack sends as
 * `message_changed`, `app_mention` (also for every later edit), or both. Direct messages are for
 * the bot anyway.
 */
function keyOf({ team, channel, ts, mention }: Draft): string {
  return `${team}:${channel}:${ts}${mention && !isDirect(channel) ? ':mention' : ''}`
}

function readEdit(event: JsonObject, context: Context): Read {
  const message = objectAt(event, 'message')
  const before = objectAt(event, 'previous_message')
  const draft = draftOf(event, message, context)
  if (!draft) return unreadable(event, context)
  const extra = defined({ previousText: textAt(before, 'text') })
  // A direct message was already for the bot before the edit.
  if (draft.mention && !isDirect(draft.channel) && !mentions(before, context.workspace.botUser)) {
    const kinds = ['app_mention', 'message', 'message_changed']
    return { ...draft, key: keyOf(draft), event: kinds, extra }
  }
  return { ...draft, event: 'message_changed', files: [], extra: { ...extra, notice: true } }
}

function readDeletion(event: JsonObject, context: Context): Read {
  const before = objectAt(event, 'previous_message')
  const ts = event.deleted_ts ?? objectAt(event, 'message').ts ?? ''
  const draft = draftOf(event, { ts, ...before }, context)
  if (!draft) return unreadable(event, context)
  const extra = defined({ notice: true, previousText: textAt(before, 'text') })
  const { content: _content, ...rest } = draft
  return { ...rest, event: 'message_deleted', files: [], mention: false, extra }
}

/** Reads any other event. Unwanted if the bot caused it, unless it joined or left a channel. */
function readNotice(event: JsonObject, { workspace: { team }, options, isOwnBot, key }: Context): Draft {
  const type = String(event.type)
  const actor = textAt(event, 'user') ?? textAt(event, 'user.id') ?? textAt(event, 'user_id')
  const isByOwnBot = isOwnBot(actor) && !type.startsWith('member_')
  const unwantedReason = isByOwnBot ? 'the bot caused it itself' : undefined
  const places = ['item.channel', 'channel', 'channel.id', 'channel_id'].map((path) => textAt(event, path))
  const channel = places.find(Boolean) ?? actor ?? team
  const itemTs = textAt(event, 'item.ts')
  const threadUnknown = itemTs !== undefined && threadsIn(channel, options) === 'reply'
  const item = { reaction: textAt(event, 'reaction'), itemUser: textAt(event, 'item_user') }
  return {
    team,
    channel,
    thread: threadUnknown ? itemTs : textAt(event, 'thread_ts'),
    threadUnknown,
    key,
    user: actor ?? team,
    ts: itemTs ?? textAt(event, 'ts'),
    event: type,
    content: contentOf(event),
    ...defined({ unwantedReason }),
    extra: defined({ notice: true, ...item, tab: textAt(event, 'tab'), context: event.context }),
  }
}

/** The draft of a message event without channel, author or time, which is not accepted. */
function unreadable(event: JsonObject, context: Context): Draft {
  return { ...readNotice(event, context), unwantedReason: 'it names no channel, author or time' }
}

/** The draft of the post that an event is about; undefined without channel, author or time. */
function draftOf(event: JsonObject, message: JsonObject, context: Context): Draft | undefined {
  const { workspace, options, key } = context
  const channel = textAt(event, 'channel')
  const user = textAt(message, 'user') ?? textAt(message, 'bot_id')
  const ts = textAt(message, 'ts')
  if (!channel || !user || !ts) return undefined
  const root = textAt(message, 'thread_ts')
  const startsThread = root === undefined && threadsIn(channel, options) === 'reply'
  const mention = event.type === 'app_mention' || mentions(message, workspace.botUser)
  // Posts of other bots do not count: bots that answer each other in a thread would loop.
  const isThreadReply = root !== undefined && root !== ts && message.bot_id === undefined
  const isWithBot = mention || message.parent_user_id === workspace.botUser
  return {
    team: workspace.team,
    channel,
    thread: startsThread ? ts : root,
    key,
    user,
    userName: textAt(message, 'username'),
    ts,
    event: 'message',
    mention,
    ...(isThreadReply && { inThread: isWithBot ? ('mine' as const) : ('unknown' as const) }),
    content: contentOf(message, workspace.botUser),
    files: filesIn(message),
    // For a message to an agent: the channel or file that its author is looking at.
    extra: defined({ context: event.app_context }),
    startsThread: startsThread || undefined,
    unwantedReason: whyUnwanted(message, context),
  }
}

function whyUnwanted(message: JsonObject, context: Context): string | undefined {
  if (isOwn(message, context)) return 'it is our own message'
  if (message.user === 'USLACKBOT') return 'Slackbot wrote it'
  const isBot = message.bot_id !== undefined || message.subtype === 'bot_message'
  return isBot && !context.options['allow-bots'] ? 'another bot wrote it' : undefined
}

/**
 * Whether the app posted a message. In a channel shared by workspaces, it has one bot per
 * workspace: those with a token here are known, and others are recognised by the app's id. Posts of
 * the app's webhooks have no user, and do not count as own.
 */
function isOwn(message: JsonObject, { isOwnBot, payload }: Context): boolean {
  const { user, bot_id: bot, app_id } = message
  if (isOwnBot(user) || isOwnBot(bot)) return true
  return Boolean(user && bot && app_id) && app_id === payload.api_app_id
}

/**
 * Whether a message mentions the bot. Messages of bots may do so only in blocks; people's texts
 * contain all mentions.
 */
function mentions(message: JsonObject, botUser: string): boolean {
  const content = JSON.stringify([message.text, message.bot_id === undefined ? '' : message.blocks])
  // With the end of the id, because a longer id may start with it.
  return [`<@${botUser}>`, `<@${botUser}|`, `"user_id":"${botUser}"`].some((each) => content.includes(each))
}

/**
 * `reply`: each post in a channel starts a thread. `channel`: the whole channel is one
 * conversation.
 */
export function threadsIn(channel: string, options: SlackOptions): 'reply' | 'channel' {
  return (isDirect(channel) ? options['direct-threads'] : undefined) ?? options.threads
}

/** Whether a channel is a direct message, or a user id in place of one. */
export function isDirect(channel: string): boolean {
  return /^[DUW]/.test(channel)
}
