import { pathGet } from '../core/json.ts'
import type { Message } from '../core/message.ts'
import { resumedJobId } from '../core/resumed-job.ts'
import type { Store } from '../core/store.ts'
import { waitForEnd } from './outbox.ts'

export const DISPATCH_QUEUE = 'dispatch'

/**
 * Dispatches a message again after the decision about an approval, once per approval. `route`: the
 * route that asked, so that the job also waits while that route or its skill is paused.
 */
export async function resumeDispatch(
  store: Pick<Store, 'jobs'>,
  message: Pick<Message, 'id' | 'gateway' | 'conversation'>,
  { id: approval, route = '' }: { id: string; route?: string },
): Promise<void> {
  const lane = `${message.gateway}/${message.conversation}`
  const job = { id: resumedJobId(message.id, approval), lane, group: route, messageId: message.id }
  await store.jobs.add(DISPATCH_QUEUE, [job])
}

/** The idempotency key of a send: a retry produces the same keys in the same order. */
export function sendKey(messageId: string, route: string, ordinal: string): string {
  return `${messageId}:${route}:${ordinal}`
}

/**
 * Like `waitForEnd`, for a message with `data.respond: 'result'`: the outcome and the number of
 * replies.
 */
export async function waitUntilSettled(
  store: Pick<Store, 'jobs' | 'onSignal'>,
  messageId: string,
  timeout: number,
  signal?: AbortSignal,
): Promise<{ outcome: 'done' | 'failed' | 'unrouted'; replies: number; noReply?: string } | undefined> {
  const end = await waitForEnd(store, DISPATCH_QUEUE, messageId, timeout, signal)
  if (end?.state === 'dead') return { outcome: 'failed', replies: 0 }
  const unrouted = pathGet(end?.result, 'outcome') === 'unrouted'
  const replies = Number(pathGet(end?.result, 'replies') ?? 0)
  const noReply = pathGet(end?.result, 'noReply')
  const why = typeof noReply === 'string' ? { noReply } : {}
  return end && { outcome: unrouted ? 'unrouted' : 'done', replies, ...why }
}
