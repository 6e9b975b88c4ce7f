import type { Event } from '../../core/event.ts'
import type { NewJob } from '../../core/store.ts'
import { putLast } from '../../lib/put-last.ts'
import { conversationOf } from './wire.ts'

export type Lanes = ReturnType<typeof createLanes>

/** Lanes that are remembered where not all without jobs are known: of one that is forgotten it is not known again. */
const KNOWN = 1_000
/** In place of the last job of a lane: it has none; whether it has one is not known. */
const FREE = ''
const UNKNOWN = '?'

/**
 * The events of one subscription that were read and are to be sent, in order within a lane, and which lanes have jobs: an
 * event of such a lane becomes a job too. `round` tells the jobs of a replay from those before it.
 */
export function createLanes(subscription: string, queue: string, round: number | undefined) {
  /** Oldest first. The first of a lane that is not in `ready` is under way. */
  const lanes = new Map<string, Event[]>()
  const ready: string[] = []
  /** The last job of each lane: when it has ended, so have those before it. */
  const lastJobs = new Map<string, string>()
  /** What holds of all other lanes: jobs may be left from before. */
  let others = UNKNOWN
  /** On the way into the queue. */
  const leaving: (NewJob & { data: { event: Event } })[] = []
  let ahead = 0
  const isFree = (lane: string) => (lastJobs.get(lane) ?? others) === FREE

  /** Makes jobs of events; `failure`: why the first of them was not pushed. */
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
    /** Whether a lane has no jobs, as far as that is known. */
    isFree,
    /** Whether it is known if a lane has jobs. */
    isKnown: (lane: string) => lastJobs.has(lane),
    /** Whether lanes may have jobs from before. */
    mayHaveOthers: () => others === UNKNOWN,
    /** The queue was empty: there are no jobs but those that were made here. */
    hasNoOthers(): void {
      others = FREE
    },
    /** How many events wait or are under way. */
    ahead: () => ahead,
    add(event: Event): void {
      ahead++
      const lane = laneOf(event)
      const events = lanes.get(lane)
      if (events) events.push(event)
      else lanes.set(lane, [event]) && ready.push(lane)
    },
    /** Takes the first event of a lane of which none is under way. */
    next(): { lane: string; event: Event } | undefined {
      for (let lane = ready.shift(); lane !== undefined; lane = ready.shift()) {
        const event = lanes.get(lane)?.[0]
        if (event) return { lane, event }
      }
      return undefined
    },
    /** The event that was taken from a lane was sent, or failed for this reason; `stays`: it keeps its place. */
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
    /** A job is done or dead. */
    jobEnded(lane: string, id: string): void {
      if (lastJobs.get(lane) !== id) return
      if (others === FREE) lastJobs.delete(lane)
      else putLast(lastJobs, lane, FREE, KNOWN)
    },
  }
}

/** The conversation of an event; those without one share a lane. */
export function laneOf(event: Event): string {
  const conversation = conversationOf(event)
  return conversation === undefined ? event.topic : `${event.source}/${conversation}`
}
