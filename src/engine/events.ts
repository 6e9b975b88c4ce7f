import { isDeepStrictEqual } from 'node:util'
import { AUDIT_TOPIC } from '../core/audit.ts'
import { type Call, whoCalls } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import { type Event, isForOperators, LOG_TOPIC, MESSAGE_TOPIC, REPLY_TOPICS } from '../core/event.ts'
import { isOperator } from '../core/identity.ts'
import type { Services } from '../core/services.ts'
import type { Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { waitFor } from '../lib/wait-for.ts'
import { createGroupActivity } from './group-activity.ts'
import type { GroupDeliveries } from './group-deliveries.ts'
import { listGroups } from './group-list.ts'
import { createGroupReader } from './group-reader.ts'
import type { createGroupSettings, GroupSettings } from './group-settings.ts'
import type { ReplayEvents } from './replay-events.ts'
import { createSubscriptions } from './subscriptions.ts'
import { createTopicTail } from './topic-tail.ts'

/** The events road: every group sees every event; a peek (`ack: false`) consumes nothing. `permit` throws if a skill may not be run. */
export function createEvents(deps: {
  store: Pick<Store, 'topics' | 'kv' | 'journal' | 'onSignal'>
  settings: ReturnType<typeof createGroupSettings>
  /** Turns events that exceeded `max-deliveries` into dead letters. */
  bury: GroupDeliveries['bury']
  permit(skill: string, call: Call): Promise<void>
  replay: ReplayEvents
  now(): number
}) {
  const { store, settings, permit, now } = deps
  const subscriptions = createSubscriptions(store, now)
  const { topics } = store
  const activity = createGroupActivity(now)
  const reader = createGroupReader(deps)
  /** Topics on which running invocations have their own groups. */
  const own = new Map<string, Set<string>>()
  const tail = createTopicTail(store)
  const settingsFor = createSettingsFor(topics, settings)
  return {
    async emit({ topic, type, data }, call) {
      refuseForeign(topic)
      const [id] = await topics.publish(topic, [
        { type: type ?? 'event', source: emitterOf(call), data, rootContextId: call.rootId },
      ])
      if (!id) throw new TriviumError('internal', { reason: `the store gave no id for an event on ${topic}` })
      return { id }
    },
    async subscribe({ topic, queue, replay, ref, match, maxDeliveries }, call) {
      const group = groupOf({ topic, queue, ref }, call)
      if (ref !== undefined) await permit(ref, call)
      await settings.set(topic, group, defined({ match, maxDeliveries }))
      const { created } = await topics.subscribe(topic, group, replay ? 'start' : 'now')
      const { kind, id } = call.caller
      if (ref !== undefined) await subscriptions.add({ topic, group, ref, by: { kind, ...defined({ id }) } })
      // A call from outside, which consists of this operation only, returns with the name of its group.
      if (queue === undefined && ref === undefined && call.depth > 0) {
        own.set(call.rootId, (own.get(call.rootId) ?? new Set()).add(topic))
      }
      return { topic, queue: group, created }
    },
    async unsubscribe({ topic, queue, ref }, call) {
      const group = groupOf({ topic, queue, ref }, call)
      const removed = await subscriptions.remove(ref, { topic, group })
      // The group serves another ref, or none.
      if (ref !== undefined && !removed) return { ok: false }
      const ok = await topics.unsubscribe(topic, group)
      await settings.remove(topic, group)
      return { ok }
    },
    ...createMoves(topics, deps.replay),
    groups: ({ topic }) => listGroups({ topics, activity, skills: subscriptions.list, isLasting }, topic),
    async wait(args, call) {
      const group = groupOf(args, call)
      const grouped = args.queue !== undefined || (await hasGroup(topics, args.topic, group))
      const bounds = grouped ? await settingsFor(args, group) : {}
      const readNext = grouped ? undefined : await tail(args)
      const waited = waitFor<Event[]>({
        attempt: () => readNext?.() ?? reader.next(args, group, bounds),
        watch: (wake) => store.onSignal(`topic:${args.topic}`, wake),
        timeout: args.timeout,
        signal: call.signal,
      })
      return (await (grouped ? activity.note(waited, { ...args, group, by: whoCalls(call) }) : waited)) ?? []
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
    /** Removes the groups of a finished outermost invocation; most have none. Never rejects: unused groups expire. */
    releaseOwn(rootId: string): Promise<unknown> | undefined {
      const known = own.get(rootId)
      if (!known || !own.delete(rootId)) return undefined
      const group = ownGroup(rootId)
      const ends = [...known].flatMap((topic) => [
        topics.unsubscribe(topic, group),
        settings.remove(topic, group),
      ])
      return Promise.allSettled(ends)
    },
  } satisfies Services['events'] & Record<'releaseOwn', unknown>
}

/** Operations that move a group. */
function createMoves(topics: Store['topics'], replay: ReplayEvents) {
  return {
    async seek({ topic, queue, to }, call) {
      groupOf({ topic, queue }, call)
      if (!(await topics.seek(topic, queue, to)))
        throw new TriviumError('group_not_found', { group: queue, topic })
      return { ok: true }
    },
    async replay({ topic, queue, ...range }, call) {
      groupOf({ topic, queue }, call)
      return { job: await replay({ topic, group: queue, range }, call) }
    },
  } satisfies Pick<Services['events'], 'seek' | 'replay'>
}

/** The source of an event: the calling skill, else the message's gateway, the token, or the interface. */
function emitterOf({ by, message, caller: { kind, id = kind, skills } }: Call): string {
  const isNamed = skills !== undefined || kind === 'route' || kind === 'code'
  return by ?? message?.gateway ?? (isNamed ? id : kind)
}

type WaitArgs = Parameters<Services['events']['wait']>[0]

/** The settings of the group that a call reads. Throws `group_filter` if the group and the call have different filters. */
function createSettingsFor(topics: Store['topics'], settings: ReturnType<typeof createGroupSettings>) {
  return async ({ topic, queue, match }: WaitArgs, group: string): Promise<GroupSettings> => {
    const found = await settings.of(topic, group)
    if (match === undefined || isDeepStrictEqual(match, found.match)) return found
    // An invocation's own group has no other reader.
    if (queue === undefined) return { ...found, match }
    if (found.match === undefined && !(await hasGroup(topics, topic, group))) {
      await settings.set(topic, group, { match })
      return { ...found, match }
    }
    const has = found.match === undefined ? 'no filter' : 'another filter'
    throw new TriviumError('group_filter', { group, topic, has })
  }
}

/** Reserved prefix of the groups of invocations. */
const OWN = '~'
/** Root ids of external calls. They are secret, so knowing the group's name grants access. */
const OUTSIDE = /^(http|cli|mcp)-[0-9a-f]{8}-[0-9a-f-]{27}$/

/** True for a group that outlives the invocation that created it. */
export function isLasting(group: string): boolean {
  return !group.startsWith(OWN) && !OUTSIDE.test(group)
}

function ownGroup(rootId: string): string {
  return OUTSIDE.test(rootId) ? rootId : `${OWN}${rootId}`
}

type Meant = { topic: string; queue?: string | undefined; ref?: string | undefined }

/**
 * Resolves the group of a call. Without `queue` it is the invocation's own; with a `ref`, the person's, so that repeating the
 * call finds the same subscription. Throws `topic_reserved`, and `forbidden` for another caller's group, except to operators.
 */
function groupOf({ topic, queue, ref }: Meant, { rootId, caller }: Call): string {
  refuseInternal(topic)
  const mayAll = isOperator(caller)
  if (isForOperators(topic) && !mayAll)
    throw new TriviumError('forbidden', { what: `Topic ${topic}`, reason: 'it is for operators' })
  const who = mayAll ? 'operator' : (caller.id ?? '')
  const own = ref === undefined ? ownGroup(rootId) : `${OWN}ref:${ref}:${who}`
  if (queue === undefined || queue === own || !queue.startsWith(OWN)) return queue ?? own
  if (mayAll) return queue
  throw new TriviumError('forbidden', {
    what: `The consumer group ${queue}`,
    reason: 'names with ~ belong to their callers',
  })
}

/** Throws for topics that only the daemon writes. */
function refuseForeign(topic: string): void {
  if (topic === MESSAGE_TOPIC || isForOperators(topic)) throw new TriviumError('topic_reserved', { topic })
  refuseInternal(topic)
}

function refuseInternal(topic: string): void {
  if (topic === LOG_TOPIC || topic === AUDIT_TOPIC || topic.startsWith(REPLY_TOPICS))
    throw new TriviumError('topic_reserved', { topic })
}

async function hasGroup(topics: Store['topics'], topic: string, group: string): Promise<boolean> {
  const [batch] = await topics.read(topic, [{ group, max: 1, mode: 'peek' }])
  return batch !== undefined
}
