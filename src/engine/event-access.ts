import type { Call } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import { isForOperators, isInternal, MESSAGE_TOPIC } from '../core/event.ts'
import { isOperator } from '../core/identity.ts'

/** Reserved prefix of the groups of invocations. */
const OWN = '~'
/**
 * Root ids of external calls, which also name their groups. They are secret, so anyone who knows one
 * has access.
 */
const OUTSIDE = /^(http|cli|mcp)-[0-9a-f]{8}-[0-9a-f-]{27}$/

/** True for a group that outlives the invocation that created it. */
export function isLasting(group: string): boolean {
  return !group.startsWith(OWN) && !OUTSIDE.test(group)
}

/** The group of an invocation, by its root id. */
export function ownGroup(rootId: string): string {
  return OUTSIDE.test(rootId) ? rootId : `${OWN}${rootId}`
}

type NamedGroup = { topic: string; queue?: string | undefined; ref?: string | undefined }

/**
 * The group of a call: `queue`, else the invocation's own group. With a `ref`, the own group is one
 * of the caller, so that a repeated call finds the same subscription. Throws `topic_reserved`, and
 * `forbidden` for another caller's group, except to operators.
 */
export function groupOf({ topic, queue, ref }: NamedGroup, { rootId, caller }: Call): string {
  requireReadable(topic, caller)
  const mayAll = isOperator(caller)
  const who = mayAll ? 'operator' : (caller.id ?? '')
  const own = ref === undefined ? ownGroup(rootId) : `${OWN}ref:${ref}:${who}`
  if (queue === undefined || queue === own || !queue.startsWith(OWN)) return queue ?? own
  if (mayAll) return queue
  throw new TriviumError('forbidden', {
    what: `The consumer group ${queue}`,
    reason: 'names with ~ belong to their callers',
  })
}

/** Throws `topic_reserved` for internal topics, and `forbidden` for those of operators. */
export function requireReadable(topic: string, caller: Call['caller']): void {
  refuseInternal(topic)
  if (isForOperators(topic) && !isOperator(caller))
    throw new TriviumError('forbidden', { what: `Topic ${topic}`, reason: 'it is for operators' })
}

/** Throws for topics that only the daemon writes. */
export function requireWritable(topic: string): void {
  if (topic === MESSAGE_TOPIC || isForOperators(topic)) throw new TriviumError('topic_reserved', { topic })
  refuseInternal(topic)
}

function refuseInternal(topic: string): void {
  if (isInternal(topic)) throw new TriviumError('topic_reserved', { topic })
}
