import type { Call } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import type { ServiceOf } from '../../core/operation.ts'
import { MOST_SENDS } from './bounds.ts'
import type * as operations from './operations.ts'
import type { createPlannedSends, PlannedSend } from './records.ts'
import { isVisible } from './visible.ts'

type Records = ReturnType<typeof createPlannedSends>
type CancelArgs = Parameters<ServiceOf<typeof operations.sends>['cancel']>[0]

/**
 * Finds the send for `send-cancel`. Throws `send_not_found`, and `send_key_ambiguous` if several
 * sends have the key.
 */
export async function findSend(records: Records, args: CancelArgs, call: Call): Promise<PlannedSend> {
  const { id, gateway, messageId } = args
  const key = args.key ?? id ?? ''
  const byId = id === undefined ? undefined : await records.find(id)
  if (byId && isVisible(byId, call)) return byId
  const [first, ...others] = await waitingWith(records, { ...args, key }, call)
  if (first && others.length > 0) {
    const ids = [first, ...others].map(({ sending }) => sending.key).join(', ')
    throw new TriviumError('send_key_ambiguous', { key, ids })
  }
  if (first) return first
  // Sends that are no longer waiting are found only by their full id.
  const fullIds = [messageId && `answer:${messageId}:${key}`, gateway && `${gateway}:${key}`, key]
  for (const fullId of fullIds) {
    const found = fullId ? await records.find(fullId) : undefined
    if (found && isVisible(found, call) && matches(found, args)) return found
  }
  throw new TriviumError('send_not_found', { id: key })
}

/** The waiting sends whose id is the key, or the key with a prefix that `gateway-send` adds. */
async function waitingWith(
  records: Records,
  { key, ...args }: CancelArgs & { key: string },
  call: Call,
): Promise<PlannedSend[]> {
  const found: PlannedSend[] = []
  for (const each of (await records.due(MOST_SENDS)).items) {
    if (each.key !== key && !each.key.endsWith(`:${key}`)) continue
    const planned = await records.find(each.key)
    if (planned?.state !== 'waiting' || !isVisible(planned, call) || !matches(planned, args)) continue
    const { gateway, message, sending } = planned
    const fullIds = [key, `${gateway}:${key}`, `answer:${message?.id}:${key}`]
    if (fullIds.includes(sending.key)) found.push(planned)
  }
  return found
}

function matches(
  { gateway, message }: PlannedSend,
  args: Pick<CancelArgs, 'gateway' | 'messageId'>,
): boolean {
  if (args.gateway !== undefined && args.gateway !== gateway) return false
  return args.messageId === undefined || args.messageId === message?.id
}
