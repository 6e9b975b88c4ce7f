import type { Event } from '../../core/event.ts'
import type { NewJob } from '../../core/store.ts'
import { deliveryId } from '../../engine/event-rounds.ts'
import { putLast } from '../../lib/put-last.ts'
import { conversationOf } from './wire.ts'

export type Lanes = ReturnType<typeof createLanes>

/**
 * An event, its lane (see `laneOf`), and the round in which it was read (see `GroupRead`); a gap
 * has none.
 */
export type Delivery = { event: Event; lane: string; round: number | undefined }

/** Maximum number of lanes remembered as free while older jobs may exist. Others are unknown. */
const MAX_KNOWN_LANES = 1_000
/** In place of a lane's last job: the lane has no jobs. */
const FREE = ''
/** In place of a lane's last job: it is unknown whether the lane has jobs. */
const UNKNOWN = '?'

/**
 * The events of one subscription that were read and not sent yet, in order per lane. Knows which
 * lanes have jobs: an event of such a lane becomes a job too.
 */
export function createLanes(subscription: string, queue: string, now: () => number) {
  /** Unsent events by lane, oldest first. */
  const lanes = new Map<string, Delivery[]>()
  /** Lanes that have events, of which none is being sent at the moment. */
  const ready: string[] = []
  /** The last job of each lane. When it has ended, all earlier ones have too. */
  const lastJobs = new Map<string, string>()
  /** The state of other lanes: unknown while jobs of an earlier start may exist. */
  let otherLanes = UNKNOWN
  /** Jobs to be added to the queue. */
  const newJobs: (Delivery & { job: NewJob })[] = []
  let unsent = 0
  /** Whether a lane is known to have no jobs. */
  const isFree = (lane: string) => (lastJobs.get(lane) ?? otherLanes) === FREE

  /** Turns events into jobs. `failure`: why the first one could not be pushed. */
  const addJobs = (deliveries: readonly Delivery[], failure?: string) => {
    for (const [index, { event, lane, round }] of deliveries.entries()) {
      const id = deliveryId(`${queue}/${event.id}`, round)
      putLast(lastJobs, lane, id, Number.POSITIVE_INFINITY)
      const data = index === 0 && failure !== undefined ? { event, failure, failedAt: now() } : { event }
      newJobs.push({ event, lane, round, job: { id, lane, group: subscription, data } })
    }
  }

  return {
    newJobs,
    addJobs,
    isFree,
    /** Whether it is known if a lane has jobs. */
    isKnown: (lane: string) => lastJobs.has(lane),
    mayHaveOlderJobs: () => otherLanes === UNKNOWN,
    /** Called when the queue was empty: then all its jobs are from here. */
    ruleOutOlderJobs(): void {
      otherLanes = FREE
    },
    /** Number of events that wait or are being sent. */
    unsent: () => unsent,
    add(delivery: Delivery): void {
      unsent++
      const { lane } = delivery
      if (addTo(lanes, lane, delivery)) ready.push(lane)
    },
    /** The first event of a lane that is ready; the lane is no longer ready then. */
    next(): { lane: string; delivery: Delivery } | undefined {
      for (let lane = ready.shift(); lane !== undefined; lane = ready.shift()) {
        const delivery = lanes.get(lane)?.[0]
        if (delivery) return { lane, delivery }
      }
      return undefined
    },
    /** Moves an event that was not sent yet to another round. Returns false if there is none. */
    adopt: (delivery: Delivery) => adopt([...(lanes.get(delivery.lane) ?? []), ...newJobs], delivery),
    /**
     * Called when the event taken from a lane was sent, or failed for `reason`. `stays`: a failed
     * event keeps its place.
     */
    ended(lane: string, { reason, stays }: { reason?: string | undefined; stays: boolean }): void {
      const events = lanes.get(lane) ?? []
      if (reason === undefined) {
        events.shift()
        unsent--
      }
      if (!isFree(lane) || (reason !== undefined && !stays)) {
        unsent -= events.length
        addJobs(events.splice(0), reason)
      }
      if (events.length > 0) ready.push(lane)
      else lanes.delete(lane)
    },
    /** Called when a job has succeeded, or is a dead letter. */
    jobEnded(lane: string, id: string): void {
      if (lastJobs.get(lane) !== id) return
      if (otherLanes === FREE) lastJobs.delete(lane)
      else putLast(lastJobs, lane, FREE, MAX_KNOWN_LANES)
    },
  }
}

function adopt(known: readonly Delivery[], { event: { id }, round }: Delivery): boolean {
  const found = known.find(({ event }) => event.id === id)
  if (found) found.round = round
  return found !== undefined
}

/** Adds an event to its lane. Returns whether the lane is new. */
function addTo(lanes: Map<string, Delivery[]>, lane: string, delivery: Delivery): boolean {
  const deliveries = lanes.get(lane)
  if (!deliveries) {
    lanes.set(lane, [delivery])
    return true
  }
  deliveries.push(delivery)
  return false
}

/** The conversation of an event; events without one share a lane. */
export function laneOf(event: Event): string {
  const conversation = conversationOf(event)
  return conversation === undefined ? event.topic : `${event.source}/${conversation}`
}
