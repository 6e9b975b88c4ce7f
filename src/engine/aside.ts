import { randomUUID } from 'node:crypto'
import { toJson } from '../core/json.ts'
import { completeMessage, type Message, messageSchema, type NewMessage } from '../core/message.ts'
import type { Route } from '../core/route.ts'
import type { ClaimedJob, NewJob } from '../core/store.ts'
import { jobFor } from './pump.ts'

/**
 * The job of a message that is on no road: only the listeners of a route get it, in order with the
 * messages of its conversation. The job contains the message.
 */
export function asideJob(route: Route, message: NewMessage & { key: string }, receivedAt: number): NewJob {
  const { gateway, key } = message
  const trace = message.trace ?? randomUUID().replaceAll('-', '')
  const whole = completeMessage({ id: `${gateway}:${key}`, gateway, receivedAt }, { ...message, trace })
  const { messageId: _, ...job } = jobFor(whole, { name: route.name, isUnordered: route.order === 'none' })
  return { ...job, data: toJson(whole) }
}

/** The message in a job of `asideJob`; undefined for other jobs. */
export function asideIn({ messageId, data }: ClaimedJob): Message | undefined {
  return messageId === undefined ? messageSchema.safeParse(data).data : undefined
}
