import type { Call } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import { type Event, MESSAGE_TOPIC } from '../core/event.ts'
import type { EventService } from '../core/services.ts'
import type { GroupBatch, GroupRead, Store } from '../core/store.ts'
import { type Batcher, createBatcher } from '../lib/batch.ts'
import { waitFor } from '../lib/wait-for.ts'
import { createSubscriptions, withGap } from './subscriptions.ts'

/** The events road, with the clean-up that only the daemon calls. */
export type Events = EventService & {
  /** Ends the groups that belong to an outermost invocation and have no name of their own. */
  releaseOwn(rootId: string): Promise<void>
}

/** Groups of one topic that are read in one store call at most. */
const MAX_READS = 256

/** The events road: every consumer group sees every event; a peek (`ack: false`) leaves it unconsumed. */
export function createEvents(store: Pick<Store, 'topics' | 'kv' | 'onSignal'>, now: () => number): Events {
  const subscriptions = createSubscriptions(store, now)
  const { topics } = store
  const readers = new Map<string, Batcher<GroupRead, GroupBatch | undefined>>()
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

  const remember = (rootId: string, topic: string) => {
    const known = own.get(rootId) ?? new Set()
    own.set(rootId, known.add(topic))
  }

  const watch = (topic: string) => (wake: () => void) => store.onSignal(`topic:${topic}`, wake)

  const waitInGroup = (args: WaitArgs, group: string, call: Call) => {
    const request = readRequest(args, group)
    return waitFor<Event[]>({
      async attempt() {
        let batch = await read(args.topic, request)
        if (!batch) {
          await topics.subscribe(args.topic, group, 'now')
          batch = await read(args.topic, request)
        }
        const events = batch ? withGap(args.topic, batch, now()) : []
        return events.length > 0 ? { value: events } : { retryAt: batch?.nextVisible }
      },
      watch: watch(args.topic),
      timeout: args.timeout,
      signal: call.signal,
    })
  }

  const waitForNext = async (args: WaitArgs, call: Call) => {
    const after = await topics.end(args.topic)
    return waitFor<Event[]>({
      async attempt() {
        const next = await topics.tail(args.topic, after, args.max)
        return next.length > 0 ? { value: next.map(({ event }) => event) } : { retryAt: undefined }
      },
      watch: watch(args.topic),
      timeout: args.timeout,
      signal: call.signal,
    })
  }

  return {
    async emit({ topic, type, data }, call) {
      if (topic === MESSAGE_TOPIC) throw new TriviumError('topic_reserved', { topic })
      const [id] = await topics.publish(topic, [
        { type: type ?? 'event', source: call.skill || call.caller.kind, data, rootContextId: call.rootId },
      ])
      if (!id) throw new TriviumError('internal', { reason: `the store gave no id for an event on ${topic}` })
      return { id }
    },
    async subscribe({ topic, queue, replay, ref }, call) {
      const group = groupOf(queue, call)
      const { created } = await topics.subscribe(topic, group, replay ? 'start' : 'now')
      // With a `ref` it goes on without its caller, until somebody ends it.
      if (queue === undefined && ref === undefined && call.caller.kind === 'route') {
        remember(call.rootId, topic)
      }
      if (ref !== undefined) await subscriptions.add({ topic, group, ref })
      return { topic, queue: group, created }
    },
    async unsubscribe({ topic, queue, ref }, call) {
      const group = groupOf(queue, call)
      const removed = await subscriptions.remove({ topic, group, ref })
      // The group serves another ref, or none: what was asked for is not there.
      if (ref !== undefined && !removed) return { ok: false }
      return { ok: await topics.unsubscribe(topic, group) }
    },
    async wait(args, call) {
      const group = groupOf(args.queue, call)
      const grouped = args.queue !== undefined || (await hasGroup(topics, args.topic, group))
      const events = grouped ? await waitInGroup(args, group, call) : await waitForNext(args, call)
      return events ?? []
    },
    async ack({ topic, queue, ids, nack, delay }, call) {
      groupOf(queue, call)
      const count = nack ? await topics.nack(topic, queue, ids, delay) : await topics.ack(topic, queue, ids)
      if (count === 0 && !(await hasGroup(topics, topic, queue))) {
        throw new TriviumError('group_not_found', { group: queue, topic })
      }
      return { count }
    },
    async releaseOwn(rootId) {
      const known = own.get(rootId)
      if (!known) return
      own.delete(rootId)
      for (const topic of known) await topics.unsubscribe(topic, ownGroup(rootId))
    },
  }
}

type WaitArgs = Parameters<EventService['wait']>[0]

/** A caller without a named group has one of its own. */
function ownGroup(rootId: string): string {
  return `${OWN}${rootId}`
}

const OWN = '~'

/** The group that a call means. Groups of another's own are reached by operators only; throws `forbidden`. */
function groupOf(queue: string | undefined, { rootId, caller }: Call): string {
  const own = ownGroup(rootId)
  if (queue === undefined || queue === own || !queue.startsWith(OWN)) return queue ?? own
  if (caller.roles?.includes('operator')) return queue
  throw new TriviumError('forbidden', {
    what: `The consumer group ${queue}`,
    reason: 'names with ~ belong to their callers',
  })
}

function readRequest({ ack, max, lease }: WaitArgs, group: string): GroupRead {
  if (lease !== undefined) return { group, max, mode: 'lease', lease }
  return { group, max, mode: ack ? 'consume' : 'peek' }
}

/** By the list and not by a read: a read would swallow what is told once, the gap. */
async function hasGroup(topics: Store['topics'], topic: string, group: string): Promise<boolean> {
  return (await topics.groups(topic)).some((one) => one.group === group)
}
