import { randomUUID } from 'node:crypto'
import { isJsonObject, type Json, type JsonObject } from '../../src/core/json.ts'
import type { Account, ExampleMessage } from '../../src/core/transport.ts'
import { isDirect } from './inbound/read-event.ts'

/** The account of a gateway that is not connected. */
const EXAMPLE: Account = { team: 'T0EXAMPLE', teamName: 'example', user: 'U0EXAMPLE' }
/** The channel of a post that names none. */
const CHANNEL = 'C0EXAMPLE'
/** The channel of a direct message that names none. */
const DIRECT = 'D0EXAMPLE'

/** Events of posts; other events have fields of their own. */
const POSTS = ['message', 'app_mention']

/**
 * The data of an example message, as `inbound/prepare.ts` creates it. By default, a post in a
 * channel that mentions the bot. Fields in `data` change it, for example to a direct message.
 * Events that are not posts only get the workspace, because their fields depend on the event.
 */
export function exampleData({ text, from, data }: ExampleMessage, account = EXAMPLE): JsonObject {
  const event = firstOf(data.event)
  const place = { team: account.team, teamName: account.teamName }
  if (event !== undefined && !POSTS.includes(String(event))) return { ...place, ...data }
  const channel = firstOf(data.channel ?? (data.direct === true ? DIRECT : CHANNEL))
  const direct = data.direct ?? isDirect(String(channel))
  // By default a mention; a direct message needs none.
  const mention = data.mention ?? (event === undefined ? !direct : event === 'app_mention')
  const now = Date.now()
  const ts = (now / 1000).toFixed(6)
  const fields: JsonObject = {
    event: mention === true ? ['app_mention', 'message'] : 'message',
    ...place,
    channel: [channel ?? CHANNEL],
    ts,
    direct,
    mention,
    ...data,
  }
  const slackEvent = {
    type: event ?? 'message',
    user: from,
    text: mention === true ? `<@${account.user}> ${text}` : text,
    ts: fields.ts ?? ts,
    event_ts: fields.ts ?? ts,
    team: fields.team ?? account.team,
    channel: channel ?? CHANNEL,
    channel_type: direct === true ? 'im' : 'channel',
    ...(data.thread === undefined ? {} : { thread_ts: data.thread }),
  }
  const payload = {
    type: 'event_callback',
    team_id: slackEvent.team,
    api_app_id: 'A0EXAMPLE',
    event: slackEvent,
    event_id: `Ev${randomUUID()}`,
    event_time: Math.floor(now / 1000),
  }
  return { ...fields, payload: isJsonObject(data.payload) ? data.payload : payload }
}

/** The first element of a list; other values themselves. */
function firstOf(value: Json | undefined): Json | undefined {
  return Array.isArray(value) ? value[0] : value
}
