import { type ZodType, z } from 'zod'
import { eventSchema, MESSAGE_TOPIC } from '../core/event.ts'

/** A gateway with connections that stay: where it listens, and what is said there. */
export type Socket = { name: string; path: string; frames: { client: ZodType; server: ZodType } }

/**
 * The description of what flows, AsyncAPI 3.0: the frames of WebSocket gateways, and the events of topics, as `event-wait`
 * and push subscriptions give them. Made from the schemas that read them.
 */
export function asyncApi(version: string, sockets: readonly Socket[], topics: readonly string[]) {
  const channels: Record<string, object> = {}
  const operations: Record<string, object> = {}
  const add = (id: string, channel: object, actions: { send?: string; receive?: string }) => {
    const names = Object.values(actions)
    const messages = Object.fromEntries(
      names.map((name) => [name, { $ref: `#/components/messages/${name}` }]),
    )
    channels[id] = { ...channel, messages }
    for (const [action, name] of Object.entries(actions)) {
      const place = `#/channels/${id}`
      operations[`${action}-${id}`] = {
        action,
        channel: { $ref: place },
        messages: [{ $ref: `${place}/messages/${name}` }],
      }
    }
  }
  for (const { name, path } of sockets) {
    const query = {
      type: 'object',
      properties: { conversation: { type: 'string' }, after: { type: 'integer' } },
    }
    const channel = { address: path, title: `Gateway ${name}`, bindings: { ws: { method: 'GET', query } } }
    add(`gateway-${name}`, channel, { receive: 'clientFrame', send: 'serverFrame' })
  }
  for (const [at, address] of [...new Set([MESSAGE_TOPIC, ...topics])].entries()) {
    add(`topic-${at}`, { address, title: `Topic ${address}` }, { send: 'event' })
  }
  const [socket] = sockets
  const schemas = { event: eventSchema, ...(socket && framesOf(socket)) }
  const messages = Object.entries(schemas).map(([name, schema]) => [
    name,
    { name, payload: describe(schema) },
  ])
  return {
    asyncapi: '3.0.0',
    info: { title: 'Trivium', version, description: 'Frames of WebSocket gateways, and events of topics.' },
    defaultContentType: 'application/json',
    channels,
    operations,
    components: { messages: Object.fromEntries(messages) },
  }
}

function framesOf({ frames: { client, server } }: Socket) {
  return { clientFrame: client, serverFrame: server }
}

function describe(schema: ZodType) {
  const { $schema: _dialect, ...described } = z.toJSONSchema(schema, {
    io: 'input',
    target: 'draft-7',
    unrepresentable: 'any',
  })
  return described
}
