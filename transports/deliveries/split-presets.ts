import { hash } from 'node:crypto'
import { isJsonObject, type Json, type JsonObject, objectsIn, pathGet } from '../../src/core/json.ts'
import { type Pointers, valueAt } from './pointers.ts'
import { type Part, part, partsAt, scalarsOf } from './split.ts'

/**
 * How a provider's delivery is split into one message per element. Pointers refer to one element.
 */
export type Split = {
  /** Undefined if the delivery has no list. */
  parts(body: Json | undefined): Part[] | undefined
  key?: Pointers
  event?: Pointers
  from?: Pointers
  conversation?: Pointers
}

/** The key has id, object and time: ids alone may repeat, and `attemptNumber` changes. */
export const HUBSPOT_SPLIT: Split = {
  parts: (body) => partsAt(body, ''),
  key(delivery) {
    const id = valueAt('eventId', delivery)
    const fields = ['subscriptionId', 'objectId fromObjectId', 'occurredAt', 'propertyName', 'messageId']
    return id && [id, ...fields.map((field) => valueAt(field, delivery))].filter(Boolean).join(':')
  },
  event: 'subscriptionType',
  from: 'portalId',
}

export const SENDGRID_SPLIT: Split = {
  parts: (body) => partsAt(body, ''),
  key: 'sg_event_id #',
  event: 'event',
  from: 'email',
}

export const GRAPH_SPLIT: Split = {
  parts: (body) => partsAt(body, 'value'),
  key: 'id',
  event: 'changeType lifecycleEvent',
  from: 'tenantId',
}

/**
 * The phone number. People with a username may hide it: then there is only their business-scoped
 * user id.
 * https://developers.facebook.com/documentation/business-messaging/whatsapp/business-scoped-user-ids
 */
const WHATSAPP_PERSON = 'value.messages.0.from value.messages.0.from_user_id'

/**
 * Each of Meta's `entry` has `messaging` (Messenger, Instagram) or `changes`. A WhatsApp change has
 * several messages or statuses, and becomes one change for each.
 */
export const META_SPLIT: Split = {
  parts(body) {
    const entries = pathGet(body, 'entry')
    if (!Array.isArray(entries) || !isJsonObject(body)) return undefined
    return entries.flatMap((entry: Json) => partsOfEntry(entry, scalarsOf(body)))
  },
  key(delivery) {
    const message = valueAt('value.messages.0.id', delivery)
    if (message) return message
    const status = valueAt('value.statuses.0.id', delivery)
    if (status && !hasSeveral(pathGet(delivery.body, 'value.statuses.0')))
      return `${status} ${valueAt('value.statuses.0.status', delivery) ?? ''}`
    // Without a time of its own, an element can equal an older one; the time of its entry differs.
    const entry = valueAt('timestamp', delivery) ? undefined : pathGet(delivery.envelope, 'entry')
    return `sha256:${hash('sha256', (entry ? JSON.stringify(entry) : '') + delivery.text)}`
  },
  event: ({ body, envelope }) =>
    String(pathGet(body, 'field') ?? pathGet(envelope, 'object') ?? '') || undefined,
  from: `sender.id ${WHATSAPP_PERSON} value.from.id`,
  conversation: `sender.id ${WHATSAPP_PERSON}`,
}

/**
 * Whether a message may have the same status several times: a message to a group once for each
 * member, an order once for each attempt to pay.
 */
function hasSeveral(status: unknown): boolean {
  const signs = ['payment', 'recipient_type', 'recipient_participant_id']
  return signs.some((name) => pathGet(status, name) !== undefined)
}

function partsOfEntry(entry: Json, outer: JsonObject): Part[] {
  if (!isJsonObject(entry)) return [part(entry, outer)]
  const envelope = { ...outer, entry: scalarsOf(entry) }
  const events = ['messaging', 'standby'].flatMap((name) => listAt(entry, name))
  const changes = listAt(entry, 'changes').flatMap(changesIn)
  const elements = [...events, ...changes]
  return elements.length > 0 ? elements.map((body) => part(body, envelope)) : [part(entry, outer)]
}

/**
 * Makes one change for each message and status in a change. A message keeps only the contact of its
 * sender; if that is not listed, it keeps all contacts.
 */
function changesIn(change: Json): Json[] {
  const value = isJsonObject(change) ? change.value : undefined
  if (!isJsonObject(change) || !isJsonObject(value)) return [change]
  const { messages: _messages, statuses: _statuses, contacts, ...rest } = value
  const changeWith = (content: JsonObject): Json => ({ ...change, value: { ...rest, ...content } })
  const messages = listAt(value, 'messages').map((message) => {
    const ofSender = objectsIn(contacts).filter(({ wa_id: id }) => id === pathGet(message, 'from'))
    const kept = ofSender.length > 0 ? ofSender : contacts
    return changeWith({ ...(kept === undefined ? {} : { contacts: kept }), messages: [message] })
  })
  const statuses = listAt(value, 'statuses').map((status) => changeWith({ statuses: [status] }))
  const all = [...messages, ...statuses]
  return all.length > 0 ? all : [change]
}

function listAt(value: JsonObject, name: string): Json[] {
  const list = Object.hasOwn(value, name) ? value[name] : undefined
  return Array.isArray(list) ? list : []
}
