import { randomUUID } from 'node:crypto'
import { isJsonObject, type JsonObject } from '../../src/core/json.ts'
import type { ExampleMessage, Identity } from '../../src/core/transport.ts'
import { isDirect } from './inbound/read-event.ts'

/** Ids of a gateway that is not connected, and of the place where nobody named one. */
const UNKNOWN: Identity = { team: 'T0EXAMPLE', teamName: 'example', user: 'U0EXAMPLE' }
const [CHANNEL, DIRECT] = ['C0EXAMPLE', 'D0EXAMPLE']

/** Events of posts; other events have fields of their own. */
const POSTS = ['message', 'app_mention']

/**
 * The data of a post that mentions the bot in a channel, as `inbound/prepare.ts` makes it; of a direct message where the given
 * data says so. A given `event` that is no post stays alone: its fields depend on the event.
 */
export function exampleData({ text, from, data }: ExampleMessage, identity = UNKNOWN): JsonObject {
  const [named] = [data.event].flat()
  const place = { team: identity.team, teamName: identity.teamName }
  if (named !== undefined && !POSTS.includes(String(named))) return { ...place, ...data }
  const [channel] = [data.channel ?? (data.direct === true ? DIRECT : CHANNEL)].flat()
  const direct = data.direct ?? isDirect(String(channel))
  const mention = data.mention ?? (named === undefined ? !direct : named === 'app_mention')
  const now = Date.now()
  const ts = (now / 1000).toFixed(6)
  const made: JsonObject = {
    ...{ event: mention === true ? ['app_mention', 'message'] : 'message' },
    ...{ ...place, channel: [channel ?? CHANNEL], ts, direct, mention },
    ...data,
  }
  const event = {
    type: named ?? 'message',
    ...{ user: from, text: mention === true ? `<@${identity.user}> ${text}` : text },
    ...{ ts: made.ts ?? ts, event_ts: made.ts ?? ts, team: made.team ?? identity.team },
    ...{ channel: channel ?? CHANNEL, channel_type: direct === true ? 'im' : 'channel' },
    ...(data.thread === undefined ? {} : { thread_ts: data.thread }),
  }
  const payload = {
    ...{ type: 'event_callback', team_id: event.team, api_app_id: 'A0EXAMPLE', event },
    ...{ event_id: `Ev${randomUUID()}`, event_time: Math.floor(now / 1000) },
  }
  return { ...made, payload: isJsonObject(data.payload) ? data.payload : payload }
}
