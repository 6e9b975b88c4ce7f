import { isJsonObject, type JsonObject } from '../../src/core/json.ts'
import type { Message } from '../../src/core/message.ts'
import { loadPart } from '../../src/core/parts.ts'
import type { TransportKind } from '../../src/core/transport.ts'
import { defined } from '../../src/lib/defined.ts'
import { exampleData } from './example.ts'
import type { SlackHost } from './host.ts'
import { isAcknowledgedByApp } from './inbound/delivery.ts'
import { formerSlackKeys, type SlackOptions, slackOptions } from './options.ts'
import { unreachableIn } from './unreachable.ts'

/**
 * `transport: slack` in routes.yaml: one Slack app, over Socket Mode or HTTP, in one or more
 * workspaces.
 */
export const slack: TransportKind<SlackOptions, SlackHost> = {
  kind: 'slack',
  options: slackOptions,
  former: formerSlackKeys,
  part: 'slack',
  async create(options, deps) {
    const { createSlackTransport } = await loadPart('slack', () => import('./transport.ts'))
    return createSlackTransport(options, deps)
  },
  eventData,
  example: exampleData,
  unreachable: unreachableIn,
  async tryListener(file) {
    const { tryApp } = await loadPart('slack', () => import('./bolt/try-app.ts'))
    return tryApp(file, 'https://slack.com/api/')
  },
  // Commands, clicks and submissions must be acknowledged within three seconds, after which their
  // triggers expire.
  isUrgent: ({ data }) => isJsonObject(data.payload) && isAcknowledgedByApp(data.payload),
}

function eventData(message: Message): JsonObject {
  // The target and the payload may contain a response URL, which would allow anyone to write into
  // the conversation.
  const { replyTarget: _target, respond: _respond, payload: _payload, ...safe } = message.data
  // Slack's attachments are only in the message; in an event, `attachments` are files.
  const { blocks: _blocks, attachments: _attachments, channel, event, command, ...rest } = safe
  const [id, name] = [channel].flat()
  return defined({
    ...rest,
    // `data.event` may list several names for `match`, the most specific first.
    event: [event].flat()[0],
    command: [command].flat()[0],
    from: message.from.id,
    fromName: message.from.name,
    channel: id,
    channelName: name,
    thread: rest.thread ?? null,
    body: message.text,
    attachments: message.attachments.length > 0 ? message.attachments : undefined,
  })
}
