import { type ReadableDelivery, valueAt } from '../deliveries/pointers.ts'
import type { Preset } from '../deliveries/preset.ts'
import { firstValue, isInData, joinedKey, SENDER } from './part-view.ts'
import type { createSenderFinder, Sender } from './proof.ts'

/**
 * What pointers are looked up in: the `data` of the message (`inData`), or the body (`delivery`).
 * `isElement`: with `split`, the body is a single element, so options are also paths in the body.
 */
export type Views = { inData: ReadableDelivery; delivery: ReadableDelivery; isElement: boolean }

/** Makes the reader of an option that is a path in `data`. Undefined without the option. */
export function configured(
  pointer: string | undefined,
  read: (path: string, from: ReadableDelivery) => string | undefined = valueAt,
) {
  if (pointer === undefined) return undefined
  const path = pointer.replace(/^data\./, '')
  return ({ inData, delivery, isElement }: Views): string | undefined => {
    if (!isElement) return read(path, inData)
    if (isInData(pointer)) return read(path, inData) ?? read(pointer, delivery)
    return read(pointer, delivery) ?? read(path, inData)
  }
}

/** Like `configured`, for a key of one or several paths. */
export function configuredKey(pointers: string | readonly string[] | undefined) {
  if (pointers === undefined || typeof pointers === 'string') return configured(pointers)
  return (views: Views): string | undefined => joinedKey(pointers, (pointer) => configured(pointer)?.(views))
}

/** Like `configured`, for a path or a list of paths: the first that has a value is used. */
export function configuredFirst(pointers: string | readonly string[] | undefined) {
  if (pointers === undefined) return undefined
  return (views: Views): string | undefined => firstValue(pointers, (pointer) => configured(pointer)?.(views))
}

/**
 * Makes a function that finds the sender: by the option `from`, else where the preset says, else
 * where most providers name it.
 */
export function createFromReader(
  option: string | undefined,
  preset: Preset | undefined,
  findSender: ReturnType<typeof createSenderFinder>,
) {
  const byOption = findSender(option?.replace(/^data\./, ''), 'data')
  const ofElement = findSender(option, 'body')
  const byPreset = findSender(preset?.from, 'body')
  const usual = findSender(SENDER, 'body')
  return ({ inData, delivery, isElement }: Views): Sender | undefined => {
    const first = isElement && !isInData(option) ? ofElement(delivery) : undefined
    const byPath = first ?? byOption(inData) ?? (isElement ? ofElement(delivery) : undefined)
    return byPath ?? byPreset(delivery) ?? usual(delivery)
  }
}
