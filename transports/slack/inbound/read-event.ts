import { randomUUID } from 'node:crypto'
import { type JsonObject, objectAt, textAt } from '../../../src/core/json.ts'
import { defined } from '../../../src/lib/defined.ts'
import type { SlackOptions } from '../options.ts'
import type { Workspaces } from '../workspaces.ts'
import { contentOf } from './content.ts'
import type { Delivery, Draft, Read } from './delivery.ts'
import { filesIn } from './forwarded.ts'

/** What people write; every other subtype is Slack telling of itself. */
const WRITTEN = new Set<unknown>([
  undefined,
  'file_share',
  'thread_broadcast',
  'me_message',
  'message_share',
  'bot_message',
])

/** What an event is read against. `key`: of this event, where no message gives a better one. */
type Here = Delivery & { options: SlackOptions; isOwnBot: Workspaces['isOwnBot']; key: string }

/**
 * Reads an Events API callback (https://docs.slack.dev/apis/events-api). Own messages, those of other bots (unless
 * allowed) and of Slackbot are unwanted. All that is not written by somebody, such as what happens to a message that
 * was there already, is a notice: only routes that ask for it answer.
 */
export function readEvent(delivery: Delivery, options: SlackOptions, { isOwnBot }: Workspaces): Read {
  const { payload, workspace } = delivery
  const event = objectAt(payload, 'event')
  const { type, subtype } = event
  const id = textAt(payload, 'event_id') ?? textAt(event, 'event_ts') ?? randomUUID()
  const key = `${workspace.team}:${id}`
  const here = { ...delivery, options, isOwnBot, key }
  if (type === 'app_mention') return readMessage(event, here)
  if (type === undefined && payload.type === undefined) return 'it does not say what it is'
  const thread = objectAt(event, 'assistant_thread')
  if (type !== 'message') return readNotice({ type: payload.type ?? '', ...event, ...thread }, here)
  // The root of a thread leaves a stone behind when it is deleted, of which Slackbot is the author.
  const isStone = textAt(event, 'message.subtype') === 'tombstone'
  if (subtype === 'message_deleted' || isStone) return readDeletion(event, here)
  if (subtype === 'message_changed') return readEdit(event, here)
  if (WRITTEN.has(subtype)) return readMessage(event, here)
  // It stands in the channel as what people write does, and may be read back.
  const standing = { ...here, key: `${workspace.team}:${textAt(event, 'channel')}:${textAt(event, 'ts')}` }
  return { unwanted: whyUnwanted(event, here), ...readNotice({ ...event, type: String(subtype) }, standing) }
}

function readMessage(event: JsonObject, here: Here): Read {
  const draft = written(event, event, here)
  if (!draft) return unreadable(event, here)
  return { ...draft, key: keyOf(draft), event: draft.mention ? ['app_mention', 'message'] : 'message' }
}

/**
 * A message is told as `message`, as `app_mention`, or as both, so its key is its own. Once it mentions the bot it is
 * another one: a mention may be added by an edit, of which Slack tells as `message_changed`, as `app_mention` (as of
 * every later edit), or as both. What is written directly is for the bot anyhow.
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
  // What is written directly was for the bot before, and has its answer.
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

/** Anything else of which Slack tells; of ours only that the bot came or went. */
function readNotice(event: JsonObject, { workspace: { team }, options, isOwnBot, key }: Here): Draft {
  const type = String(event.type)
  const by = textAt(event, 'user') ?? textAt(event, 'user.id') ?? textAt(event, 'user_id')
  const unwanted = isOwnBot(by) && !type.startsWith('member_') ? 'it is of our own doing' : undefined
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

/** What tells of a message without its channel, author or time. */
function unreadable(event: JsonObject, here: Here): Draft {
  return { ...readNotice(event, here), unwanted: 'it names no channel, author or time' }
}

/** What somebody wrote, as `event` tells of it; undefined where it does not say who, where or when. */
function written(event: JsonObject, message: JsonObject, here: Here): Draft | undefined {
  const { workspace, options, key } = here
  const channel = textAt(event, 'channel')
  const user = textAt(message, 'user') ?? textAt(message, 'bot_id')
  const ts = textAt(message, 'ts')
  if (!channel || !user || !ts) return undefined
  const root = textAt(message, 'thread_ts')
  const startsThread = root === undefined && threadsIn(channel, options) === 'reply'
  const mention = event.type === 'app_mention' || mentions(message, workspace.botUser)
  // Bots that answer each other in a thread would go on for ever.
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
    // What who writes to an agent looks at.
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
 * In a channel that workspaces share, the app is there as one bot of each. Those with a token here are known; of the
 * others Slack says whose app it is. What a webhook of the app posts has no user, and is not from us.
 */
function isOwn(message: JsonObject, { isOwnBot, payload }: Here): boolean {
  const { user, bot_id: bot, app_id } = message
  if (isOwnBot(user) || isOwnBot(bot)) return true
  return Boolean(user && bot && app_id) && app_id === payload.api_app_id
}

/** Bots may say it in blocks only; in what people write the text has it all. Another id may begin like this one. */
function mentions(message: JsonObject, botUser: string): boolean {
  const said = JSON.stringify([message.text, message.bot_id === undefined ? '' : message.blocks])
  return [`<@${botUser}>`, `<@${botUser}|`, `"user_id":"${botUser}"`].some((each) => said.includes(each))
}

/** Whether what stands in a channel starts threads, or the channel is one conversation. */
export function threadsIn(channel: string, options: SlackOptions): 'reply' | 'channel' {
  return (isDirect(channel) ? options['direct-threads'] : undefined) ?? options.threads
}

/** The direct messages of a channel, or of a user whom Slack gives none for. */
export function isDirect(channel: string): boolean {
  return /^[DUW]/.test(channel)
}
