import { type ZodType, z } from 'zod'
import { eventSchema, MESSAGE_TOPIC } from '../core/event.ts'

/** A gateway with persistent connections: its path, and the schemas of its frames. */
export type Socket = { name: string; path: string; frames: { client: ZodType; server: ZodType } }

/** Query parameters of a WebSocket connection. */
const QUERY = { type: 'object', properties: { conversation: { type: 'string' }, after: { type: 'integer' } } }

/**
 * The AsyncAPI 3.0 description: frames of WebSocket gateways and events of topics, from their
 * schemas.
 */
export function asyncApi(version: string, sockets: readonly Socket[], topics: readonly string[]) {
  const bindings = { ws: { method: 'GET', query: QUERY } }
  const endpoints = [
    ...sockets.map(({ name, path }) => {
      const channel = { address: path, title: `Gateway ${name}`, bindings }
      return { id: `gateway-${name}`, channel, actions: { receive: 'clientFrame', send: 'serverFrame' } }
    }),
    ...[...new Set([MESSAGE_TOPIC, ...topics])].map((address, index) => {
      const channel = { address, title: `Topic ${address}` }
      return { id: `topic-${index}`, channel, actions: { send: 'event' } }
    }),
  ]
  const channels = endpoints.map(({ id, channel, actions }) => {
    const messages = Object.values(actions).map((name) => [name, ref(`components/messages/${name}`)])
    return [id, { ...channel, messages: Object.fromEntries(messages) }]
  })
  const operations = endpoints.flatMap(({ id, actions }) =>
    Object.entries(actions).map(([action, name]) => {
      const messages = [ref(`channels/${id}/messages/${name}`)]
      return [`${action}-${id}`, { action, channel: ref(`channels/${id}`), messages }]
    }),
  )
  const { client, server } = sockets[0]?.frames ?? {}
  const schemas = {
    event: eventSchema,
    ...(client && server && { clientFrame: client, serverFrame: server }),
  }
  const options = { io: 'input', target: 'draft-7', unrepresentable: 'any' } as const
  const messages = Object.entries(schemas).map(([name, schema]) => {
    const { $schema: _dialect, ...payload } = z.toJSONSchema(schema, options)
    return [name, { name, payload }]
  })
  return {
    asyncapi: '3.0.0',
    info: { title: 'Trivium', version, description: 'Frames of WebSocket gateways, and events of topics.' },
    defaultContentType: 'application/json',
    channels: Object.fromEntries(channels),
    operations: Object.fromEntries(operations),
    components: { messages: Object.fromEntries(messages) },
  }
}

function ref(path: string) {
  return { $ref: `#/${path}` }
}
