import { isJsonObject, type Json, type JsonObject, objectsIn } from '../../src/core/json.ts'
import { code, page, table } from './markdown.ts'
import { objectAt } from './object-at.ts'

const INTRODUCTION = `The events of topics, and the frames of WebSocket gateways. A running daemon serves this description as
\`/asyncapi.json\` (AsyncAPI 3), with its own gateways and topics. [Events](../events.md) shows how to read events,
[WebSocket](../websocket.md) how to connect, and [push](../push.md#what-the-receiver-gets) what a URL gets.`

const TOPICS = table(
  ['Topic', 'Written by', 'Read by', 'An event is'],
  [
    [code('gateway-message'), 'Trivium', 'everyone with a token for it', '[a message](#gateway-message)'],
    [code('trivium-operations'), 'Trivium', 'operators', '[a problem](#trivium-operations)'],
    ['any other name', 'programs and skills', 'everyone with a token for it', 'what was published'],
  ],
)

/** docs/reference/events.md: the events and frames of an AsyncAPI description. */
export function eventsPage(asyncapi: JsonObject): string {
  const payload = (name: string) => objectAt(asyncapi, 'components', 'messages', name, 'payload')
  const dataOf = (name: string) => fieldTable(objectAt(payload(name), 'properties', 'data'))
  const types = objectAt(payload('operationsEvent'), 'properties', 'type').enum
  return page('Events and frames', INTRODUCTION, [
    '## Topics',
    TOPICS,
    '## An event',
    fieldTable(payload('event')),
    'Later versions may add fields. Ignore those that you do not know.',
    '## `gateway-message`',
    `\`data\` has these fields, and [others](../events.md#what-an-event-has) for each transport:`,
    dataOf('messageEvent'),
    '## `trivium-operations`',
    `\`type\` is ${listed(types)}. [Notifications](../notifications.md#rules) explains when each occurs. \`data\`:`,
    dataOf('operationsEvent'),
    '## `gap`',
    `A consumer group for which retention removed unread events gets an event of the type \`gap\` first. \`data\`:`,
    dataOf('gapEvent'),
    '## Frames of WebSocket gateways',
    'Each frame is a text with a JSON object. `*` marks fields that are always there.',
    '### From the client',
    frameTable(payload('clientFrame')),
    '### From Trivium',
    frameTable(payload('serverFrame')),
  ])
}

function frameTable(payload: JsonObject): string {
  const frames = objectsIn(payload.oneOf ?? payload.anyOf)
  return table(
    ['`type`', 'Further fields', 'Meaning'],
    frames.map((frame) => {
      const { type: _, ...fields } = objectAt(frame, 'properties')
      const type = objectAt(frame, 'properties', 'type').const
      const names = Object.entries(fields)
        .filter(([, schema]) => !isForbidden(schema))
        .map(([name]) => code(name) + (isRequired(frame, name) ? '*' : ''))
      return [code(String(type)), names.join(', ') || '–', meaningOf(frame)]
    }),
  )
}

/** A field that a frame must not have: `not: {}`. */
function isForbidden(schema: Json): boolean {
  return isJsonObject(schema) && isJsonObject(schema.not)
}

function fieldTable(schema: JsonObject): string {
  return table(
    ['Field', 'Type', 'Meaning'],
    Object.entries(objectAt(schema, 'properties')).map(([name, field]) => {
      const object = isJsonObject(field) ? field : {}
      const type = typeOf(object) + (isRequired(schema, name) ? '' : ', optional')
      return [code(name), type, meaningOf(object)]
    }),
  )
}

function typeOf({ type, const: value, enum: values }: JsonObject): string {
  if (typeof value === 'string') return code(value)
  if (Array.isArray(values)) return listed(values)
  return typeof type === 'string' ? type : 'any JSON'
}

function listed(values: Json | undefined): string {
  const names = (Array.isArray(values) ? values : []).map((value) => code(String(value)))
  return names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`
}

function isRequired({ required }: JsonObject, name: string): boolean {
  return Array.isArray(required) && required.includes(name)
}

function meaningOf({ description }: JsonObject): string {
  if (typeof description !== 'string')
    throw new Error('a field or frame of /asyncapi.json has no description')
  return description
}
