import type { Event } from '../../core/event.ts'
import { conversationOf } from './wire.ts'

/** The events of a conversation that were read ahead, oldest first. `failure`: why the first of them was not pushed. */
export type Lane = { key: string; events: Event[]; isSending: boolean; failure?: string }

/** Events of one lane go one after the other; those without a conversation share one. */
export function laneOf(event: Event): string {
  const conversation = conversationOf(event)
  return conversation === undefined ? event.topic : `${event.source}/${conversation}`
}

/**
 * What was read ahead of a group, in lanes. A lane has one event under way, and none while it has a job that is not
 * finished: what comes behind a job becomes a job, too. `knowsAll`: no job is left from before.
 */
export function createLanes(knowsAll: boolean) {
  const lanes = new Map<string, Lane>()
  const ready = new Set<Lane>()
  /** The last job of each lane that has any: when it has ended, so have those before it. */
  const jobs = new Map<string, string>()
  /** While jobs of unknown lanes are left: the lanes that are known to have none. */
  let free = knowsAll ? undefined : new Set<string>()

  const isBehindJob = ({ key, failure }: Lane) =>
    failure !== undefined || jobs.has(key) || (free !== undefined && !free.has(key))
  const settle = (lane: Lane) => {
    if (lane.events.length === 0) lanes.delete(lane.key)
    else if (!lane.isSending && !isBehindJob(lane)) ready.add(lane)
  }

  return {
    knowsAll: () => free === undefined,
    /** The queue has been seen empty but for jobs that are known. */
    learnedAll(): void {
      free = undefined
      for (const lane of lanes.values()) settle(lane)
    },
    events: () => [...lanes.values()].flatMap(({ events }) => events),
    add(event: Event): void {
      const key = laneOf(event)
      const lane = lanes.get(key) ?? { key, events: [], isSending: false }
      lanes.set(key, lane)
      lane.events.push(event)
      settle(lane)
    },
    /** A lane whose first event is to be sent now. */
    next(): Lane | undefined {
      for (const lane of ready) {
        ready.delete(lane)
        lane.isSending = true
        return lane
      }
      return undefined
    },
    /** The first event of a lane was sent (`true`), is to be tried again from here (`false`), or as a job (a reason). */
    ended(lane: Lane, how: boolean | string): void {
      lane.isSending = false
      if (how === true) lane.events.shift()
      else if (how !== false) lane.failure = how
      settle(lane)
    },
    /** Lanes whose events are to become jobs: all of them, or only what failed. */
    behindJobs: (all: boolean): Lane[] =>
      [...lanes.values()].filter(
        (lane) => !lane.isSending && (all ? isBehindJob(lane) : lane.failure !== undefined),
      ),
    /** The job of this id is about to be the last of a lane. */
    hasJob: (key: string, id: string) => void jobs.set(key, id),
    /** So many of the first events of a lane are jobs now. */
    becameJobs(lane: Lane, count: number): void {
      lane.events.splice(0, count)
      delete lane.failure
      settle(lane)
    },
    jobEnded(key: string, id: string): void {
      if (jobs.get(key) !== id) return
      jobs.delete(key)
      free?.add(key)
      const lane = lanes.get(key)
      if (lane) settle(lane)
    },
    /** Forgets what is not under way: it is still in the group. */
    clear(): void {
      ready.clear()
      for (const lane of lanes.values()) {
        lane.events.splice(lane.isSending || lane.failure !== undefined ? 1 : 0)
        settle(lane)
      }
    },
  }
}
