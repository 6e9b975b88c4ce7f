import type { IncomingHttpHeaders } from 'node:http'
import type { JsonObject } from '../../src/core/json.ts'
import { type ReadableDelivery, textAt, valueAt } from '../deliveries/pointers.ts'
import { type Part, partsAt } from '../deliveries/split.ts'
import type { Split } from '../deliveries/split-presets.ts'
import type { WebhookOptions } from './config.ts'
import type { createSenderFinder, Sender } from './proof.ts'

/**
 * Values read from a delivery or an element. `configuredText`: the text at the path `text:` of the
 * gateway.
 */
export type Fields = {
  data: JsonObject
  text: string
  event: string | undefined
  key: string | undefined
  conversation: string | undefined
  configuredText: string | undefined
  from: Sender | undefined
  /** The name of the sender at the path `from-name:` of the gateway. */
  name: string | undefined
}

/** Position of an element (from 0), and the number of elements. */
export type Position = { index: number; of: number }

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

/**
 * Makes a reader for an element. Values that the element does not have come from the delivery
 * (`whole`).
 */
export function createPartReader(
  options: WebhookOptions,
  preset: Split | undefined,
  findSender: ReturnType<typeof createSenderFinder>,
) {
  const senders = [findSender(preset?.from, 'element'), findSender(SENDER, 'element')]
  const inElement = findSender(options.from, 'element')
  const inDelivery = findSender(options.from?.replace(/^data\./, ''), 'data')
  return (headers: IncomingHttpHeaders, part: Part, position: Position, whole: Fields): Fields => {
    const { body, envelope } = part
    const text = JSON.stringify(body)
    const data: JsonObject = { ...whole.data, format: 'json', body, split: position }
    if (envelope) data.envelope = envelope
    const element = { headers, body, text, envelope }
    const inData = { headers, body: data, text }
    const configured = (pointer: string | undefined, read: typeof textAt = valueAt) => {
      if (pointer === undefined) return undefined
      const readData = () => read(pointer.replace(/^data\./, ''), inData)
      return isInData(pointer)
        ? (readData() ?? read(pointer, element))
        : (read(pointer, element) ?? readData())
    }
    const configuredSender = isInData(options.from)
      ? (inDelivery(inData) ?? inElement(element))
      : (inElement(element) ?? inDelivery(inData))
    const elementKey = options.key
      ? keyIn(element, options.key)
      : (valueAt(preset?.key, element) ?? cloudEventKey(element))
    const conversation = options.conversation
      ? firstValue(options.conversation, configured)
      : valueAt(preset?.conversation, element)
    const hasPresetOnly = preset !== undefined && !options.conversation
    return {
      data,
      text,
      event:
        configured(options.event) ??
        valueAt(preset?.event, element) ??
        valueAt('type', element) ??
        valueAt('event', element) ??
        whole.event,
      // Without its own key, an element is identified by the delivery's id and its position.
      key: elementKey ?? (whole.key && `${whole.key}#${position.index}`),
      // A preset that splits deliveries knows all conversations of its elements.
      conversation: hasPresetOnly ? conversation : (conversation ?? whole.conversation),
      configuredText: configured(options.text, textAt),
      from: configuredSender ?? firstOf(senders, element) ?? whole.from,
      name: configured(options['from-name']) ?? whole.name,
    }
  }
}

/**
 * Whether a pointer is a path in `data`. Others are paths in an element, whose fields may have
 * names that `data` has too, such as `method`.
 */
export function isInData(pointer: string | undefined): boolean {
  return pointer?.startsWith('data.') ?? false
}

function firstOf(
  senders: readonly ReturnType<ReturnType<typeof createSenderFinder>>[],
  element: ReadableDelivery,
) {
  for (const find of senders) {
    const sender = find(element)
    if (sender) return sender
  }
  return undefined
}

/** A key of several values, which all have to be there; undefined otherwise. */
export function joinedKey(
  pointers: string | readonly string[],
  read: (pointer: string) => string | undefined,
): string | undefined {
  if (typeof pointers === 'string') return read(pointers)
  const values = pointers.map(read)
  // As JSON, so that `a b` and `c` are another key than `a` and `b c`.
  return values.includes(undefined) ? undefined : JSON.stringify(values)
}

/**
 * The key of an element. Headers alone are no key: values that all elements share would make them
 * duplicates.
 */
function keyIn(element: ReadableDelivery, pointers: string | readonly string[]): string | undefined {
  if ([pointers].flat().every((pointer) => pointer.startsWith('header.'))) return undefined
  return joinedKey(pointers, (pointer) => valueAt(pointer.replace(/^data\.body\./, ''), element))
}

/** The value of the first pointer that has one. */
export function firstValue(
  pointers: string | readonly string[],
  read: (pointer: string) => string | undefined,
): string | undefined {
  for (const pointer of [pointers].flat()) {
    const value = read(pointer)
    if (value !== undefined) return value
  }
  return undefined
}

/** The key of a CloudEvent in structured mode. */
export function cloudEventKey(delivery: ReadableDelivery): string | undefined {
  const read = (name: string) => valueAt(name, delivery)
  return read('specversion') && read('id') ? `${read('source')} ${read('id')}` : undefined
}

/**
 * Where bodies name the sender: GitHub and Gitea (`sender`), Slack (`event.user`), GitLab
 * (`user_username`).
 */
export const SENDER = 'sender.login event.user user_username'
