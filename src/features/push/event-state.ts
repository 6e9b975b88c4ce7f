import { z } from 'zod'
import { type Event, MESSAGE_TOPIC } from '../../core/event.ts'
import { timeOf } from '../../core/message-id.ts'
import type { Store } from '../../core/store.ts'
import { createEventFilter } from '../../engine/event-filter.ts'
import { defined } from '../../lib/defined.ts'
import { eventJobs } from './event-jobs.ts'
import { type Held, heldBy, unreadSince } from './not-sent.ts'
import type { PushSubscription } from './schema.ts'
import { waitingReplayOf } from './waiting-replay.ts'
import type { Withdrawn } from './withdrawn-attempts.ts'

const attemptSchema = z.object({
  at: z.number().exactOptional(),
  /** The start of a replay, if the attempt belongs to one. */
  since: z.number().exactOptional(),
  reason: z.string().exactOptional(),
  nextAt: z.number().exactOptional(),
  held: z.literal('failing').exactOptional(),
  isDead: z.boolean().exactOptional(),
  deliveredAt: z.number().exactOptional(),
  withdrawn: z.object({ at: z.number(), by: z.string().exactOptional() }).exactOptional(),
})

type Attempt = z.infer<typeof attemptSchema>

/**
 * What became of an event: `removed`: its dead letter was dropped. `unread`: the push has not taken
 * it yet. `queued`: it waits for an attempt, or behind an earlier event. Both say why the push sends
 * nothing, if so. `excluded`: by the filter. `read`: no attempt at it is kept. `unknown`: the event is not kept either. `withdrawn`: its replay was cancelled, when and by whom; an event that was
 * delivered before is `delivered`, with the same in `withdrawn`. `waiting`: a replay sends it again, which
 * began at `since`; one that was delivered before is `delivered`, with the same in `again`. `mayHaveFailed`: failed attempts at it are not kept in a history.
 */
export type EventState =
  | { state: 'delivered'; at?: number; withdrawn?: Withdrawn; again?: Again }
  | ({ state: 'waiting' } & Again)
  | ({ state: 'withdrawn' } & Withdrawn)
  | { state: 'dead'; deadLetter: string }
  | { state: 'retrying'; nextAt?: number; held?: 'failing' }
  | { state: 'read'; mayHaveFailed: boolean }
  | ({ state: 'unread' | 'queued' } & Held)
  | { state: 'removed' | 'excluded' | 'unknown' }

/** A replay that has not tried an event yet: its start (Unix ms), and its job if known. */
type Again = { since: number; job?: string }

/**
 * The state of the event `id` in a push. `attempts`: those at it, newest first. `replays`: the jobs of
 * replays to the push.
 */
export async function eventStateOf(
  store: Store,
  subscription: PushSubscription,
  {
    id,
    attempts,
    retained,
    replays = async () => [],
    now = Date.now(),
  }: {
    id: string
    attempts: readonly object[]
    retained?: Event | undefined
    replays?: () => Promise<readonly { id: string; startedAt: number }[]>
    now?: number
  },
): Promise<EventState> {
  const known = attempts.flatMap((each) => attemptSchema.safeParse(each).data ?? [])
  const [newest] = known
  const again = async (after: number): Promise<Again | undefined> => {
    const since = retained && (await waitingReplayOf(store, subscription, { id, after, replays }))
    if (since === undefined) return undefined
    const job = (await replays()).find(({ startedAt }) => startedAt === since)?.id
    return { since, ...defined({ job }) }
  }
  // A delivered event has no job and no dead letter that matter.
  if (newest && !newest.withdrawn && isDelivered(newest)) {
    const replayed = await again(newest.since ?? timeOf(id))
    return replayed ? whileReplayed(stateAfter(newest), replayed) : stateAfter(newest)
  }
  const since = known.flatMap((each) => each.since ?? [])
  const jobs = await eventJobs(store, subscription, { id, since, replays: await replays() })
  const letter = await jobs.letter()
  if (letter) return { state: 'dead', deadLetter: letter.id }
  const untried = async (): Promise<EventState | undefined> => {
    const isUnread = retained && (await unreadSince(store, subscription, id)) !== undefined
    if (!isUnread && !(await jobs.isQueued())) return undefined
    return { state: isUnread ? 'unread' : 'queued', ...(await heldBy(store, subscription.name, now)) }
  }
  if (newest) {
    const { withdrawn } = newest
    const state = withdrawn ? stateAfterWithdrawal(withdrawn, known) : stateAfter(newest)
    if (state.state === 'retrying') return state
    const replayed = await again(newest.since ?? timeOf(id))
    if (replayed) return whileReplayed(state, replayed)
    // A retried dead letter becomes the same job again.
    return (state.state === 'removed' && ((await untried()) ?? (await deadInAnyRound(jobs)))) || state
  }
  const { match, topic } = subscription
  // The history of a message has all attempts; those at other events are kept for some time only.
  const mayHaveFailed = topic !== MESSAGE_TOPIC
  const old = async () => (mayHaveFailed ? deadInAnyRound(jobs) : undefined)
  if (!retained) return (await untried()) ?? (await old()) ?? { state: 'unknown' }
  if (match && !(await createEventFilter(match, store.journal)(retained)))
    return (await old()) ?? { state: 'excluded' }
  const replayed = await again(timeOf(id))
  if (replayed) return { state: 'waiting', ...replayed }
  return (await untried()) ?? (await old()) ?? { state: 'read', mayHaveFailed }
}

/** The state of an event whose dead letter is of a round that is no longer known. */
async function deadInAnyRound(jobs: Awaited<ReturnType<typeof eventJobs>>): Promise<EventState | undefined> {
  const letter = await jobs.letterOfAnyRound()
  return letter && { state: 'dead', deadLetter: letter.id }
}

/** The state of an event that a replay sends again, with its previous state. */
function whileReplayed(state: EventState, again: Again): EventState {
  if (state.state !== 'delivered') return { state: 'waiting', ...again }
  const { withdrawn: _, ...delivered } = state
  return { ...delivered, again }
}

function isDelivered({ reason, deliveredAt }: Attempt): boolean {
  return reason === undefined || deliveredAt !== undefined
}

function stateAfter({ reason, isDead, nextAt, held, at, deliveredAt }: Attempt): EventState {
  if (reason === undefined) return { state: 'delivered', ...defined({ at }) }
  if (deliveredAt !== undefined) return { state: 'delivered', at: deliveredAt }
  return isDead ? { state: 'removed' } : { state: 'retrying', ...defined({ nextAt, held }) }
}

/** `attempts`: newest first. */
function stateAfterWithdrawal(withdrawn: Withdrawn, attempts: readonly Attempt[]): EventState {
  const times = attempts.map(({ reason, at, deliveredAt }) => (reason === undefined ? at : deliveredAt))
  const at = times.find((time) => time !== undefined)
  return at === undefined ? { state: 'withdrawn', ...withdrawn } : { state: 'delivered', at, withdrawn }
}
