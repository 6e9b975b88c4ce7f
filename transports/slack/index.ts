import type { Json, JsonObject } from '../../src/core/json.ts'
import type { Message } from '../../src/core/message.ts'
import type { Transport, TransportDeps, TransportKind } from '../../src/core/transport.ts'
import { type SlackOptions, slackOptions } from './options.ts'

/** `transport: slack` in routes.yaml: one Slack app, over Socket Mode or HTTP, in one or more workspaces. */
export const slack: TransportKind<SlackOptions> = {
  kind: 'slack',
  options: slackOptions,
  create: createLazily,
  eventData,
}

/** Loads Slack's client when it is first needed: a daemon without a Slack gateway does not wait for it. */
function createLazily(options: SlackOptions, deps: TransportDeps): Transport {
  let loaded: Transport | undefined
  let loading: Promise<Transport> | undefined
  const load = async () => {
    const { createSlackTransport } = await import('./transport.ts')
    loaded = createSlackTransport(options, deps)
    return loaded
  }
  const ready = () => {
    loading ??= load()
    return loading
  }
  return {
    start: async () => (await ready()).start(),
    send: async (reply) => (await ready()).send(reply),
    probe: async (reply) => (await (await ready()).probe?.(reply)) ?? { sent: 'unknown' },
    // Only what is running can be writing a reply.
    stream: (piece) => loaded?.stream?.(piece),
    stop: async () => (await loading)?.stop(),
    close: async () => (await loading)?.close(),
    health: () => loaded?.health() ?? { ok: false, detail: 'not started' },
    check: async () => (await ready()).check(),
  }
}

function eventData(message: Message): JsonObject {
  // The reply target may hold a response URL, with which anybody could write into the conversation.
  const { replyTarget: _target, respond: _respond, channel, event, command, ...said } = message.data
  const [id, name] = Array.isArray(channel) ? channel : [channel]
  return {
    ...said,
    ...(event === undefined ? {} : { event: first(event) }),
    ...(command === undefined ? {} : { command: first(command) }),
    from: message.from.id,
    ...(message.from.name === undefined ? {} : { fromName: message.from.name }),
    ...(id === undefined ? {} : { channel: id }),
    ...(name === undefined ? {} : { channelName: name }),
    thread: said.thread ?? null,
    body: message.text,
    ...(message.attachments.length > 0 ? { attachments: message.attachments } : {}),
  }
}

/** Where `data` lists what `match` may call it, the first is its proper name. */
function first(value: Json): Json {
  return Array.isArray(value) ? (value[0] ?? null) : value
}
