import { randomUUID } from 'node:crypto'
import { isJsonObject, type JsonObject } from '../../src/core/json.ts'
import type { Account, ExampleMessage } from '../../src/core/transport.ts'
import { isDirect } from './inbound/read-event.ts'

/** Ids for a gateway that is not connected, and for a message without a channel. */
const EXAMPLE: Account = { team: 'T0EXAMPLE', teamName: 'example', user: 'U0EXAMPLE' }
const CHANNEL = 'C0EXAMPLE'
const DIRECT = 'D0EXAMPLE'

/** Events of posts; other events have fields of their own. */
const POSTS = ['message', 'app_mention']

/**
 * The data of an example message, as `inbound/prepare.ts` creates it: of a post that mentions the bot
 * in a channel, or of what the fields in `data` describe, such as a direct message. Events that are not
 * posts only get the workspace, because their fields depend on the event.
 */
export function exampleData({ text, from, data }: ExampleMessage, account = EXAMPLE): JsonObject {
  const [event] = [data.event].flat()
  const place = { team: account.team, teamName: account.teamName }
  if (event !== undefined && !POSTS.includes(String(event))) return { ...place, ...data }
  const [channel] = [data.channel ?? (data.direct === true ? DIRECT : CHANNEL)].flat()
  const direct = data.direct ?? isDirect(String(channel))
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
