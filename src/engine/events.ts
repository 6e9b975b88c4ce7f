import { isDeepStrictEqual } from 'node:util'
import { type Call, callerLabel } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import type { Event } from '../core/event.ts'
import type { Log } from '../core/log.ts'
import type { ServiceOf } from '../core/operation.ts'
import type { Store } from '../core/store.ts'
import { waitFor } from '../lib/wait-for.ts'
import { groupOf, isLasting, requireWritable } from './event-access.ts'
import { createGroupActivity } from './group-activity.ts'
import type { GroupDeliveries } from './group-deliveries.ts'
import { createGroupHistory, type GroupHistory } from './group-history.ts'
import { createGroupLastReads } from './group-last-reads.ts'
import { createNoReader, listGroups } from './group-list.ts'
import { createGroupMoves, hasGroup } from './group-moves.ts'
import { createGroupReader } from './group-reader.ts'
import type { createGroupSettings, GroupSettings } from './group-settings.ts'
import { createGroupSkips } from './group-skips.ts'
import { createGroupUnread } from './group-unread.ts'
import type { events } from './operations/events.ts'
import type { ReplayEvents } from './replay-events.ts'
import { createShowEvent } from './show-event.ts'
import { createSubscribing } from './subscribing.ts'
import { createSubscriptions } from './subscriptions.ts'
import { createTopicTail } from './topic-tail.ts'

/**
 * The events road: every group sees every event; a peek (`ack: false`) consumes nothing. `permit`
 * throws if a skill may not be run.
 */
export function createEvents(deps: {
  store: Pick<Store, 'topics' | 'kv' | 'journal' | 'onSignal'>
  settings: ReturnType<typeof createGroupSettings>
  /** Turns events that exceeded `max-deliveries` into dead letters. */
  bury: GroupDeliveries['bury']
  permit(skill: string, call: Call): Promise<void>
  /** How long (ms) events of a topic are kept, and how many. */
  retentionOf(topic: string): { maxAge: number; maxCount: number }
  replay: ReplayEvents
  log: Log
  now(): number
}) {
  const { store, settings, permit, now } = deps
  const subscriptions = createSubscriptions(store, now)
  const { topics } = store
  const lastReads = createGroupLastReads({ ...deps, kv: store.kv })
  const skips = createGroupSkips(store.kv, deps.replay.jobs)
  const activity = createGroupActivity(now, lastReads.note)
  deps.replay.findReader(createNoReader({ activity, lastReads, skills: subscriptions.list, now }))
  const rateOf = (topic: string, group: string) => activity.info(topic, group).perMinute
  const past = createGroupHistory({ topics, isLasting, rateOf, now })
  const reader = createGroupReader(deps)
  const groups = createSubscribing({ topics, settings, subscriptions, permit })
  const tail = createTopicTail(store)
  const settingsFor = createSettingsFor(topics, settings)
  return {
    async emit({ topic, type, data }, call) {
      requireWritable(topic)
      const [id] = await topics.publish(topic, [
        { type: type ?? 'event', source: emitterOf(call), data, rootContextId: call.rootId },
      ])
      if (!id) throw new TriviumError('internal', { reason: `the store gave no id for an event on ${topic}` })
      return { id }
    },
    ...groups,
    ...createGroupMoves({ ...deps, activity, skips }),
    past,
    unread: createGroupUnread(deps),
    ...createShowEvent(topics),
    groups: (args) =>
      listGroups(
        { ...deps, topics, activity, lastReads, skips, past, skills: subscriptions.list, isLasting },
        args,
      ),
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
      return (
        (await (grouped ? activity.note(waited, { ...args, group, by: callerLabel(call) }) : waited)) ?? []
      )
    },
  } satisfies ServiceOf<typeof events> & { releaseOwn: unknown; past: GroupHistory }
}

/**
 * The source of an event: the calling skill, else the message's gateway, the token, or the
 * interface.
 */
function emitterOf({ by, message, caller: { kind, id, skills } }: Call): string {
  const isNamed = skills !== undefined || kind === 'route' || kind === 'code'
  const ofCaller = isNamed ? (id ?? kind) : kind
  return by ?? message?.gateway ?? ofCaller
}

type WaitArgs = Parameters<ServiceOf<typeof events>['wait']>[0]

/**
 * The settings of the group that a call reads. Throws `group_filter` if the group and the call have
 * different filters.
 */
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
    const filter = found.match === undefined ? 'no filter' : 'another filter'
    throw new TriviumError('group_filter', { group, topic, filter })
  }
}
