import type { Call } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import { type Event, LOG_TOPIC, MESSAGE_TOPIC, REPLY_TOPICS } from '../core/event.ts'
import { isOperator } from '../core/identity.ts'
import type { Services } from '../core/services.ts'
import type { GroupBatch, GroupRead, Store } from '../core/store.ts'
import { type Batcher, createBatcher } from '../lib/batch.ts'
import { defined } from '../lib/defined.ts'
import { waitFor } from '../lib/wait-for.ts'
import { createSubscriptions, withGap } from './subscriptions.ts'

/** Groups of one topic that are read in one store call at most. */
const MAX_READS = 256

/** The events road: every group sees every event; a peek (`ack: false`) consumes none. `permit` throws where a skill may not be run. */
export function createEvents(
  store: Pick<Store, 'topics' | 'kv' | 'onSignal'>,
  now: () => number,
  permit: (skill: string, call: Call) => Promise<void>,
) {
  const subscriptions = createSubscriptions(store, now)
  const { topics } = store
  const readers = new Map<string, Batcher<GroupRead, GroupBatch | undefined>>()
  /** The topics of which an invocation that runs here has groups of its own. */
  const own = new Map<string, Set<string>>()

  /** Waiters of one topic that wake together read in one store call. */
  const read = async (topic: string, request: GroupRead) => {
    let reader = readers.get(topic)
    if (!reader) {
      reader = createBatcher({ max: MAX_READS, run: (requests) => topics.read(topic, requests) })
      readers.set(topic, reader)
    }
    try {
      return await reader.add(request)
    } finally {
      if (reader.pending() === 0) readers.delete(topic)
    }
  }

  const readGroup = async ({ topic, ack, max, lease }: WaitArgs, group: string) => {
    const mode = ack ? 'consume' : 'peek'
    const request: GroupRead =
      lease === undefined ? { group, max, mode } : { group, max, mode: 'lease', lease }
    let batch = await read(topic, request)
    if (!batch) {
      await topics.subscribe(topic, group, 'now')
      batch = await read(topic, request)
    }
    const events = batch ? withGap(topic, batch, now(), request.mode) : []
    return events.length > 0 ? { value: events } : { retryAt: batch?.nextVisible }
  }

  const endsOf = (topic: string) =>
    Promise.all(Array.from({ length: topics.partitions(topic) }, (_, at) => topics.end(topic, at)))
  const readNext = async ({ topic, max }: WaitArgs, after: readonly number[]) => {
    const tails = await Promise.all(after.map((end, at) => topics.tail(topic, end, max, at)))
    const next = tails.flat().map(({ event }) => event)
    next.sort((a, b) => (a.id < b.id ? -1 : 1))
    return next.length > 0 ? { value: next.slice(0, max) } : {}
  }

  return {
    async emit({ topic, type, data }, call) {
      if (topic === MESSAGE_TOPIC) throw new TriviumError('topic_reserved', { topic })
      refuseInternal(topic)
      const [id] = await topics.publish(topic, [
        { type: type ?? 'event', source: emitterOf(call), data, rootContextId: call.rootId },
      ])
      if (!id) throw new TriviumError('internal', { reason: `the store gave no id for an event on ${topic}` })
      return { id }
    },
    async subscribe({ topic, queue, replay, ref }, call) {
      const group = groupOf({ topic, queue, ref }, call)
      if (ref !== undefined) await permit(ref, call)
      const { created } = await topics.subscribe(topic, group, replay ? 'start' : 'now')
      const { kind, id } = call.caller
      if (ref !== undefined) await subscriptions.add({ topic, group, ref, by: { kind, ...defined({ id }) } })
      // Whose call was nothing but this one comes back with the name of the group.
      if (queue === undefined && ref === undefined && call.depth > 0) {
        own.set(call.rootId, (own.get(call.rootId) ?? new Set()).add(topic))
      }
      return { topic, queue: group, created }
    },
    async unsubscribe({ topic, queue, ref }, call) {
      const group = groupOf({ topic, queue, ref }, call)
      const removed = await subscriptions.remove(ref, { topic, group })
      // The group serves another ref, or none: what was asked for is not there.
      if (ref !== undefined && !removed) return { ok: false }
      return { ok: await topics.unsubscribe(topic, group) }
    },
    async seek({ topic, queue, to }, call) {
      groupOf({ topic, queue }, call)
      if (!(await topics.seek(topic, queue, to)))
        throw new TriviumError('group_not_found', { group: queue, topic })
      return { ok: true }
    },
    async wait(args, call) {
      const group = groupOf(args, call)
      const grouped = args.queue !== undefined || (await hasGroup(topics, args.topic, group))
      const after = grouped ? [] : await endsOf(args.topic)
      const events = await waitFor<Event[]>({
        attempt: () => (grouped ? readGroup(args, group) : readNext(args, after)),
        watch: (wake) => store.onSignal(`topic:${args.topic}`, wake),
        timeout: args.timeout,
        signal: call.signal,
      })
      return events ?? []
    },
    async ack({ topic, queue, ids, nack, delay }, call) {
      groupOf({ topic, queue }, call)
      const count = nack ? await topics.nack(topic, queue, ids, delay) : await topics.ack(topic, queue, ids)
      if (count === 0 && !(await hasGroup(topics, topic, queue))) {
        throw new TriviumError('group_not_found', { group: queue, topic })
      }
      return { count }
    },
    async extend({ topic, queue, ids, lease }, call) {
      groupOf({ topic, queue }, call)
      const count = await topics.extend(topic, queue, ids, lease)
      if (count === 0 && !(await hasGroup(topics, topic, queue))) {
        throw new TriviumError('group_not_found', { group: queue, topic })
      }
      return { count }
    },
    /** Ends the groups of an outermost invocation that is over. Never rejects: what stays behind expires with disuse. */
    async releaseOwn(rootId: string) {
      const known = own.get(rootId)
      if (!own.delete(rootId)) return
      await Promise.allSettled([...(known ?? [])].map((topic) => topics.unsubscribe(topic, ownGroup(rootId))))
    },
  } satisfies Services['events'] & Record<'releaseOwn', unknown>
}

/** Who publishes: the skill that asked for it, else the gateway of the message, the token, or the way in. */
function emitterOf({ by, message, caller: { kind, id = kind, skills } }: Call): string {
  const isNamed = skills !== undefined || kind === 'route' || kind === 'code'
  return by ?? message?.gateway ?? (isNamed ? id : kind)
}

type WaitArgs = Parameters<Services['events']['wait']>[0]

/** How the groups begin that a named queue must not look like. */
const OWN = '~'
/** The roots of calls from outside. Nobody else knows them, so that the name of such a group is the right to it. */
const OUTSIDE = /^(http|cli|mcp)-[0-9a-f]{8}-[0-9a-f-]{27}$/

/** True for a group that outlives the invocation that made it. */
export function isLasting(group: string): boolean {
  return !group.startsWith(OWN) && !OUTSIDE.test(group)
}

function ownGroup(rootId: string): string {
  return OUTSIDE.test(rootId) ? rootId : `${OWN}${rootId}`
}

type Meant = { topic: string; queue?: string | undefined; ref?: string | undefined }

/**
 * The group that a call means. Without `queue` it is that of its invocation; with a `ref` that of the person, so that the
 * same again is the same subscription. Throws `forbidden` for another's, except to operators, and `topic_reserved`.
 */
function groupOf({ topic, queue, ref }: Meant, { rootId, caller }: Call): string {
  refuseInternal(topic)
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

function refuseInternal(topic: string): void {
  if (topic === LOG_TOPIC || topic.startsWith(REPLY_TOPICS))
    throw new TriviumError('topic_reserved', { topic })
}

async function hasGroup(topics: Store['topics'], topic: string, group: string): Promise<boolean> {
  const [batch] = await topics.read(topic, [{ group, max: 1, mode: 'peek' }])
  return batch !== undefined
}
