import type { Event } from '../../core/event.ts'
import type { NewJob } from '../../core/store.ts'
import { putLast } from '../../lib/put-last.ts'
import { conversationOf } from './wire.ts'

export type Lanes = ReturnType<typeof createLanes>

/** Number of remembered lanes while older jobs may exist. A lane that was dropped counts as unknown again. */
const KNOWN = 1_000
/** Values in place of a lane's last job: the lane has no jobs, or it is unknown whether it has any. */
const FREE = ''
const UNKNOWN = '?'

/**
 * The events of one subscription that were read and not sent yet, in order per lane, and which
 * lanes have jobs. An event of a lane with jobs becomes a job too. `round` distinguishes the jobs
 * of a replay from earlier ones.
 */
export function createLanes(subscription: string, queue: string, round: number | undefined) {
  /** Oldest first. If a lane is not in `ready`, its first event is being sent. */
  const lanes = new Map<string, Event[]>()
  const ready: string[] = []
  /** The last job of each lane. When it has ended, all earlier ones have too. */
  const lastJobs = new Map<string, string>()
  /** The state of all other lanes: they may have older jobs. */
  let others = UNKNOWN
  /** Jobs to be added to the queue. */
  const leaving: (NewJob & { data: { event: Event } })[] = []
  let ahead = 0
  const isFree = (lane: string) => (lastJobs.get(lane) ?? others) === FREE

  /** Turns events into jobs. `failure`: why the first one could not be pushed. */
  const leave = (events: readonly Event[], failure?: string) => {
    for (const [at, event] of events.entries()) {
      const id = round === undefined ? `${queue}/${event.id}` : `${queue}/${event.id}.${round}`
      const lane = laneOf(event)
      putLast(lastJobs, lane, id, Number.POSITIVE_INFINITY)
      const data = at > 0 || failure === undefined ? { event } : { event, failure }
      leaving.push({ id, lane, group: subscription, data })
    }
  }

  return {
    leaving,
    leave,
    /** Whether a lane is known to have no jobs. */
    isFree,
    /** Whether it is known if a lane has jobs. */
    isKnown: (lane: string) => lastJobs.has(lane),
    /** Whether lanes may have older jobs. */
    mayHaveOthers: () => others === UNKNOWN,
    /** The queue was empty: the only jobs are those added here. */
    hasNoOthers(): void {
      others = FREE
    },
    /** Number of events that wait or are being sent. */
    ahead: () => ahead,
    add(event: Event): void {
      ahead++
      const lane = laneOf(event)
      const events = lanes.get(lane)
      if (events) events.push(event)
      else lanes.set(lane, [event]) && ready.push(lane)
    },
    /** Takes the first event of a lane that has none being sent. */
    next(): { lane: string; event: Event } | undefined {
      for (let lane = ready.shift(); lane !== undefined; lane = ready.shift()) {
        const event = lanes.get(lane)?.[0]
        if (event) return { lane, event }
      }
      return undefined
    },
    /** The event taken from a lane was sent, or failed for `reason`. `stays`: it keeps its place. */
    ended(lane: string, { reason, stays }: { reason?: string | undefined; stays: boolean }): void {
      const events = lanes.get(lane) ?? []
      if (reason === undefined) {
        events.shift()
        ahead--
      }
      if (!isFree(lane) || (reason !== undefined && !stays)) {
        ahead -= events.length
        leave(events.splice(0), reason)
      }
      if (events.length > 0) ready.push(lane)
      else lanes.delete(lane)
    },
    /** A job has succeeded, or is a dead letter. */
    jobEnded(lane: string, id: string): void {
      if (lastJobs.get(lane) !== id) return
      if (others === FREE) lastJobs.delete(lane)
      else putLast(lastJobs, lane, FREE, KNOWN)
    },
  }
}

/** The conversation of an event; events without one share a lane. */
export function laneOf(event: Event): string {
  const conversation = conversationOf(event)
  return conversation === undefined ? event.topic : `${event.source}/${conversation}`
}
