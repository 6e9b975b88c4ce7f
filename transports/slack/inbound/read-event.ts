import { randomUUID } from 'node:crypto'
import { type JsonObject, objectAt, textAt } from '../../../src/core/json.ts'
import { defined } from '../../../src/lib/defined.ts'
import type { SlackOptions } from '../options.ts'
import type { Workspaces } from '../workspaces/workspaces.ts'
import { contentOf } from './content.ts'
import type { Delivery, Draft, Read } from './delivery.ts'
import { filesIn } from './forwarded.ts'

/** Subtypes of messages written by people; all others are notices by Slack. */
const WRITTEN = new Set<unknown>([
  undefined,
  'file_share',
  'thread_broadcast',
  'me_message',
  'message_share',
  'bot_message',
])

/** Context for reading an event. `key`: of the event, unless its message provides a better one. */
type Here = Delivery & { options: SlackOptions; isOwnBot: Workspaces['isOwnBot']; key: string }

/**
 * Reads an Events API callback (https://docs.slack.dev/apis/events-api). Messages of the bot itself, of other bots (unless allowed) and
 * of Slackbot are unwanted. Events that are not new messages, such as changes of existing ones, are notices, which only match
 * routes that ask for them.
 */
export function readEvent(delivery: Delivery, options: SlackOptions, { isOwnBot }: Workspaces): Read {
  const { payload, workspace } = delivery
  const event = objectAt(payload, 'event')
  const { type, subtype } = event
  const id = textAt(payload, 'event_id') ?? textAt(event, 'event_ts') ?? randomUUID()
  const key = `${workspace.team}:${id}`
  const here = { ...delivery, options, isOwnBot, key }
  if (type === 'app_mention') return readMessage(event, here)
  if (type === undefined && payload.type === undefined) return 'it has no type'
  const thread = objectAt(event, 'assistant_thread')
  if (type !== 'message') return readNotice({ type: payload.type ?? '', ...event, ...thread }, here)
  // A deleted thread root leaves a tombstone by Slackbot.
  const isStone = textAt(event, 'message.subtype') === 'tombstone'
  if (subtype === 'message_deleted' || isStone) return readDeletion(event, here)
  if (subtype === 'message_changed') return readEdit(event, here)
  if (WRITTEN.has(subtype)) return readMessage(event, here)
  // Appears in the channel like people's messages, and may be read back from history.
  const standing = { ...here, key: `${workspace.team}:${textAt(event, 'channel')}:${textAt(event, 'ts')}` }
  return { unwanted: whyUnwanted(event, here), ...readNotice({ ...event, type: String(subtype) }, standing) }
}

function readMessage(event: JsonObject, here: Here): Read {
  const draft = written(event, event, here)
  if (!draft) return unreadable(event, here)
  return { ...draft, key: keyOf(draft), event: draft.mention ? ['app_mention', 'message'] : 'message' }
}

/**
 * A post arrives as `message`, `app_mention`, or both, so its key is independent of the event. With a mention of the bot it has another
 * key: an edit may add the mention, which Slack sends as `message_changed`, `app_mention` (also for every later edit), or both.
 * Direct messages are for the bot anyway.
 */
function keyOf({ team, channel, ts, mention }: Draft): string {
  return `${team}:${channel}:${ts}${mention && !isDirect(channel) ? ':mention' : ''}`
}

function readEdit(event: JsonObject, here: Here): Read {
  const message = objectAt(event, 'message')
  const before = objectAt(event, 'previous_message')
  const draft = written(event, message, here)
  if (!draft) return unreadable(event, here)
  const extra = defined({ previousText: textAt(before, 'text') })
  // A direct message was already for the bot before the edit.
  if (draft.mention && !isDirect(draft.channel) && !mentions(before, here.workspace.botUser)) {
    const kinds = ['app_mention', 'message', 'message_changed']
    return { ...draft, key: keyOf(draft), event: kinds, extra }
  }
  return { ...draft, event: 'message_changed', files: [], extra: { ...extra, notice: true } }
}

function readDeletion(event: JsonObject, here: Here): Read {
  const before = objectAt(event, 'previous_message')
  const ts = event.deleted_ts ?? objectAt(event, 'message').ts ?? ''
  const draft = written(event, { ts, ...before }, here)
  if (!draft) return unreadable(event, here)
  const extra = defined({ notice: true, previousText: textAt(before, 'text') })
  const { content: _content, ...left } = draft
  return { ...left, event: 'message_deleted', files: [], mention: false, extra }
}

/** Reads any other event; of the bot's own, only that it joined or left. */
function readNotice(event: JsonObject, { workspace: { team }, options, isOwnBot, key }: Here): Draft {
  const type = String(event.type)
  const by = textAt(event, 'user') ?? textAt(event, 'user.id') ?? textAt(event, 'user_id')
  const unwanted = isOwnBot(by) && !type.startsWith('member_') ? 'the bot caused it itself' : undefined
  const places = ['item.channel', 'channel', 'channel.id', 'channel_id'].map((path) => textAt(event, path))
  const channel = places.find(Boolean) ?? by ?? team
  const ts = textAt(event, 'item.ts')
  const threadUnknown = ts !== undefined && threadsIn(channel, options) === 'reply'
  const what = { reaction: textAt(event, 'reaction'), itemUser: textAt(event, 'item_user') }
  return {
    ...{ team, channel, thread: threadUnknown ? ts : textAt(event, 'thread_ts'), threadUnknown },
    ...{ key, user: by ?? team, ts: ts ?? textAt(event, 'ts') },
    event: type,
    content: contentOf(event),
    ...defined({ unwanted }),
    extra: defined({ notice: true, ...what, tab: textAt(event, 'tab'), context: event.context }),
  }
}

/** Refuses a message event without channel, author or time. */
function unreadable(event: JsonObject, here: Here): Draft {
  return { ...readNotice(event, here), unwanted: 'it names no channel, author or time' }
}

/** Reads a written message from `event`; undefined without author, channel or time. */
function written(event: JsonObject, message: JsonObject, here: Here): Draft | undefined {
  const { workspace, options, key } = here
  const channel = textAt(event, 'channel')
  const user = textAt(message, 'user') ?? textAt(message, 'bot_id')
  const ts = textAt(message, 'ts')
  if (!channel || !user || !ts) return undefined
  const root = textAt(message, 'thread_ts')
  const startsThread = root === undefined && threadsIn(channel, options) === 'reply'
  const mention = event.type === 'app_mention' || mentions(message, workspace.botUser)
  // Bots answering each other in a thread would loop.
  const isAnswer = root !== undefined && root !== ts && message.bot_id === undefined
  const isOurs = mention || message.parent_user_id === workspace.botUser
  return {
    ...{ team: workspace.team, channel, thread: startsThread ? ts : root },
    ...{ key, user, userName: textAt(message, 'username'), ts },
    event: 'message',
    mention,
    inThread: isAnswer ? (isOurs ? 'mine' : 'unknown') : undefined,
    content: contentOf(message, workspace.botUser),
    files: filesIn(message),
    // What the author of a message to an agent is looking at.
    extra: defined({ context: event.app_context }),
    startsThread: startsThread || undefined,
    unwanted: whyUnwanted(message, here),
  }
}

function whyUnwanted(message: JsonObject, here: Here): string | undefined {
  if (isOwn(message, here)) return 'it is our own message'
  if (message.user === 'USLACKBOT') return 'it is of Slackbot'
  const isBot = message.bot_id !== undefined || message.subtype === 'bot_message'
  return isBot && !here.options['allow-bots'] ? 'it is of another bot' : undefined
}

/**
 * In a channel shared by workspaces, the app has one bot per workspace. Bots with a token here are known; for others Slack names the
 * app. Posts of the app's webhooks have no user, and do not count as own.
 */
function isOwn(message: JsonObject, { isOwnBot, payload }: Here): boolean {
  const { user, bot_id: bot, app_id } = message
  if (isOwnBot(user) || isOwnBot(bot)) return true
  return Boolean(user && bot && app_id) && app_id === payload.api_app_id
}

/** Whether a message mentions the bot. Bots may do so only in blocks; people's texts contain all mentions. Other ids may share the prefix. */
function mentions(message: JsonObject, botUser: string): boolean {
  const said = JSON.stringify([message.text, message.bot_id === undefined ? '' : message.blocks])
  return [`<@${botUser}>`, `<@${botUser}|`, `"user_id":"${botUser}"`].some((each) => said.includes(each))
}

/** Whether messages in a channel start threads, or the channel is one conversation. */
export function threadsIn(channel: string, options: SlackOptions): 'reply' | 'channel' {
  return (isDirect(channel) ? options['direct-threads'] : undefined) ?? options.threads
}

/** Whether a channel is a direct message, or a user id in place of one. */
export function isDirect(channel: string): boolean {
  return /^[DUW]/.test(channel)
}
