import type { IncomingHttpHeaders } from 'node:http'
import type { JsonObject } from '../../src/core/json.ts'
import { found, type Readable, wordsAt } from '../deliveries/pointers.ts'
import { type Part, partsAt } from '../deliveries/split.ts'
import type { Split } from '../deliveries/split-presets.ts'
import type { WebhookOptions } from './config.ts'
import type { createSenderFinder, Sender } from './proof.ts'

/** Values read from a delivery or an element. */
export type Seen = {
  data: JsonObject
  text: string
  event: string | undefined
  key: string | undefined
  conversation: string | undefined
  words: string | undefined
  from: Sender | undefined
}

/** Position of an element. */
export type Place = { index: number; of: number }

/** Makes a function that splits a body into elements; undefined without `split`. */
export function splitterFor(
  { split, respond }: WebhookOptions,
  preset: Split | undefined,
): Split['parts'] | undefined {
  if (split === false) return undefined
  if (split === undefined) return respond === 'accepted' ? preset?.parts : undefined
  const path = split.replaceAll('[]', '.*').replace(/^data\.body\.?/, '')
  return (body) => partsAt(body, path)
}

/** Makes a reader for an element; other values come from the delivery. */
export function createPartView(
  options: WebhookOptions,
  own: Split | undefined,
  sender: ReturnType<typeof createSenderFinder>,
) {
  return (headers: IncomingHttpHeaders, part: Part, place: Place, whole: Seen): Seen => {
    const { body, envelope } = part
    const text = JSON.stringify(body)
    const data: JsonObject = { ...whole.data, format: 'json', body, split: place }
    if (envelope) data.envelope = envelope
    const element = { headers, body, text, envelope }
    const inData = { headers, body: data, text }
    const configured = (pointer?: string) =>
      found(pointer?.replace(/^data\./, ''), inData) ?? found(pointer, element)
    const ownKey = options.key
      ? keyIn(element, options.key)
      : (found(own?.key, element) ?? cloudEventKey(element))
    return {
      data,
      text,
      event:
        configured(options.event) ??
        found(own?.event, element) ??
        found('type', element) ??
        found('event', element) ??
        whole.event,
      // Without its own key, an element is identified by the delivery's id and its position.
      key: ownKey ?? (whole.key && `${whole.key}#${place.index}`),
      conversation: options.conversation
        ? (configured(options.conversation) ?? whole.conversation)
        : own
          ? found(own.conversation, element)
          : whole.conversation,
      words: wordsAt(options.text, inData) ?? wordsAt(options.text, element),
      from:
        sender(options.from?.replace(/^data\./, ''), 'data', inData) ??
        sender(options.from, 'element', element) ??
        sender(own?.from, 'element', element) ??
        sender(SENDER, 'element', element) ??
        whole.from,
    }
  }
}

/** Reads a key from the element only: a value shared by all elements would make them duplicates. */
function keyIn(element: Readable, pointer: string): string | undefined {
  return pointer.startsWith('header.') ? undefined : found(pointer.replace(/^data\.body\./, ''), element)
}

/** The key of a CloudEvent in structured mode. */
export function cloudEventKey(delivery: Readable): string | undefined {
  const said = (name: string) => found(name, delivery)
  return said('specversion') && said('id') ? `${said('source')} ${said('id')}` : undefined
}

/** GitHub and Gitea name a `sender`, Slack the `event.user`, GitLab `user_username`. */
export const SENDER = 'sender.login event.user user_username'
