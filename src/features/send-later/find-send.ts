import type { Call } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import type { ServiceOf } from '../../core/operation.ts'
import { MOST_SENDS } from './bounds.ts'
import type * as operations from './operations.ts'
import type { createLaterRecords, Later } from './records.ts'
import { isSeen } from './seen.ts'

type Records = ReturnType<typeof createLaterRecords>
type Wanted = Parameters<ServiceOf<typeof operations.sends>['cancel']>[0]

/**
 * Finds the send for `send-cancel`. Throws `send_not_found`, and `send_key_ambiguous` if several
 * have the key.
 */
export async function findSend(records: Records, wanted: Wanted, call: Call): Promise<Later> {
  const { id, key = id ?? '', gateway, messageId } = wanted
  const byId = id === undefined ? undefined : await records.find(id)
  if (byId && isSeen(byId, call)) return byId
  const [first, ...others] = await waitingWith(records, { ...wanted, key }, call)
  if (first && others.length > 0) {
    const ids = [first, ...others].map(({ sending }) => sending.key).join(', ')
    throw new TriviumError('send_key_ambiguous', { key, ids })
  }
  if (first) return first
  // Sends that are no longer waiting are found only by their full id.
  for (const whole of [messageId && `answer:${messageId}:${key}`, gateway && `${gateway}:${key}`, key]) {
    const found = whole ? await records.find(whole) : undefined
    if (found && isSeen(found, call) && suits(found, wanted)) return found
  }
  throw new TriviumError('send_not_found', { id: key })
}

async function waitingWith(
  records: Records,
  { key, ...wanted }: Wanted & { key: string },
  call: Call,
): Promise<Later[]> {
  const found: Later[] = []
  for (const each of await records.due(MOST_SENDS)) {
    if (each.key !== key && !each.key.endsWith(`:${key}`)) continue
    const later = await records.find(each.key)
    if (later?.state !== 'waiting' || !isSeen(later, call) || !suits(later, wanted)) continue
    const { gateway, message, sending } = later
    const own = [key, `${gateway}:${key}`, `answer:${message?.id}:${key}`]
    if (own.includes(sending.key)) found.push(later)
  }
  return found
}

function suits({ gateway, message }: Later, wanted: Pick<Wanted, 'gateway' | 'messageId'>): boolean {
  if (wanted.gateway !== undefined && wanted.gateway !== gateway) return false
  return wanted.messageId === undefined || wanted.messageId === message?.id
}
