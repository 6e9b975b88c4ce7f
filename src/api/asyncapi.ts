import { type ZodType, z } from 'zod'
import {
  eventSchema,
  gapEventSchema,
  MESSAGE_TOPIC,
  messageEventSchema,
  OPERATIONS_TOPIC,
} from '../core/event.ts'
import { operationsEventSchema } from '../features/notify/operations-event.ts'

/** A gateway with persistent connections: its path, and the schemas of its frames. */
export type Socket = { name: string; path: string; frames: { client: ZodType; server: ZodType } }

/** Query parameters of a WebSocket connection. */
const QUERY = { type: 'object', properties: { conversation: { type: 'string' }, after: { type: 'integer' } } }

/**
 * The events of the topics of Trivium. On other topics they are `event`s; a reader that fell behind
 * also gets a `gapEvent`.
 */
const EVENT_OF_TOPIC = new Map([
  [MESSAGE_TOPIC, 'messageEvent'],
  [OPERATIONS_TOPIC, 'operationsEvent'],
])

/** The AsyncAPI 3.0 description of the frames of WebSocket gateways and the events of topics. */
export function asyncApi(version: string, sockets: readonly Socket[], topics: readonly string[]) {
  const bindings = { ws: { method: 'GET', query: QUERY } }
  const endpoints = [
    ...sockets.map(({ name, path }) => {
      const channel = { address: path, title: `Gateway ${name}`, bindings }
      return { id: `gateway-${name}`, channel, actions: { receive: ['clientFrame'], send: ['serverFrame'] } }
    }),
    ...[...new Set([...EVENT_OF_TOPIC.keys(), ...topics])].map((address, index) => {
      const channel = { address, title: `Topic ${address}` }
      const actions = { send: [EVENT_OF_TOPIC.get(address) ?? 'event', 'gapEvent'] }
      return { id: `topic-${index}`, channel, actions }
    }),
  ]
  const channels = endpoints.map(({ id, channel, actions }) => {
    const names = Object.values(actions).flat()
    const messages = names.map((name) => [name, ref(`components/messages/${name}`)])
    return [id, { ...channel, messages: Object.fromEntries(messages) }]
  })
  const operations = endpoints.flatMap(({ id, actions }) =>
    Object.entries(actions).map(([action, names]) => {
      const messages = names.map((name) => ref(`channels/${id}/messages/${name}`))
      return [`${action}-${id}`, { action, channel: ref(`channels/${id}`), messages }]
    }),
  )
  const { client, server } = sockets[0]?.frames ?? {}
  const schemas = {
    event: eventSchema,
    messageEvent: messageEventSchema,
    operationsEvent: operationsEventSchema,
    gapEvent: gapEventSchema,
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
