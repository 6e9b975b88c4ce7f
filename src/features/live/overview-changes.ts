import type { Approval } from '../../core/approval.ts'
import { reasonOf } from '../../core/errors.ts'
import type { DeadLetter, Store } from '../../core/store.ts'
import type { Trouble } from '../../core/trouble.ts'
import { defined } from '../../lib/defined.ts'
import type { History, Point } from './history.ts'
import type { Readers } from './readers.ts'
import type { Reader } from './stream.ts'

/**
 * Maximum number of dead letters that a poll reads: the newest. Others are only counted in `now`.
 */
const MAX_DEAD_LETTERS = 20
const NO_RATES: Point = { at: 0, accepted: 0, done: 0, failed: 0, dead: 0, unrouted: 0, sent: 0, refused: 0 }

export type OverviewDeps = {
  store: { jobs: { deadLetters: Pick<Store['jobs']['deadLetters'], 'list'> } }
  history: Pick<History, 'every' | 'points'>
  /** Data of the event `now`, besides rates, approvals, dead letters and the `troubles`. */
  overview(
    troubles: Promise<Trouble[]>,
  ): Promise<{ roads: readonly { road: string; dead?: number; tests?: number }[] } & object>
  /** The pending approvals. */
  approvals(): Promise<Approval[]>
  /** An approval in any state. */
  approval(id: string): Promise<Approval | undefined>
  /** Never throws, even if the store is unreachable. */
  troubles(): Promise<Trouble[]>
  now(): number
}

/**
 * Sends readers slowly changing data: daemon state (`now`, `point`), approvals and dead letters.
 */
export function createOverviewChanges(deps: OverviewDeps, readers: Readers) {
  const { store, history, now } = deps
  /** The ids of the pending approvals that readers know. */
  const pending = new Set<string>()
  /** The newest dead letters, as of the last poll. */
  let knownLetters: readonly DeadLetter[] = []
  /** The time (Unix ms) of the last point that was sent. */
  let sentPoint = 0
  /** The JSON of the last `now` that was sent. */
  let sentNow = ''
  const readLetters = async () =>
    (await store.jobs.deadLetters.list({ limit: MAX_DEAD_LETTERS, isPartial: true })).items
  const overview = () => overviewWith(deps, pending.size)

  return {
    /** Reads the current state, which is not sent as new. */
    async start(): Promise<void> {
      for (const { id } of await deps.approvals()) pending.add(id)
      knownLetters = await readLetters()
      sentPoint = history.points().at(-1)?.at ?? 0
    },
    /** Sends a new reader the current state. */
    async welcome(reader: Reader): Promise<void> {
      if (reader.wants('history')) reader.send('history', { every: history.every, points: history.points() })
      const data = await overview()
      // If this is the only reader, `sendNow` need not repeat the state.
      if (readers.count() === 1) sentNow = JSON.stringify(data)
      if (reader.wants('now')) reader.send('now', { at: now(), ...data })
    },
    async sendNow(): Promise<void> {
      const data = await overview()
      const text = JSON.stringify(data)
      if (text !== sentNow) readers.send('now', { at: now(), ...data })
      sentNow = text
    },
    /** Makes the next `sendNow` send in any case. */
    forgetNow(): void {
      sentNow = ''
    },
    sendPoint(): void {
      const last = history.points().at(-1)
      if (last && last.at > sentPoint) readers.send('point', last)
      sentPoint = last?.at ?? 0
    },
    async sendApprovals(): Promise<void> {
      const current = await deps.approvals()
      for (const approval of current.filter(({ id }) => !pending.has(id))) {
        readers.send('approval', approval)
        pending.add(approval.id)
      }
      const ended = pending.difference(new Set(current.map(({ id }) => id)))
      // Each is forgotten once it was sent, so that a failed read repeats only the others.
      for (const id of ended) {
        readers.send('approval', (await deps.approval(id)) ?? { id, status: 'expired' })
        pending.delete(id)
      }
    },
    async sendDeadLetters(): Promise<void> {
      const letters = await readLetters()
      for (const letter of addedTo(knownLetters, letters).reverse()) readers.send('dead', summaryOf(letter))
      knownLetters = letters
    },
  }
}

/** The data of `now`; only the error and the troubles if the store cannot be read. */
async function overviewWith(deps: OverviewDeps, approvals: number): Promise<object> {
  try {
    const reading = deps.troubles()
    const [found, troubles] = await Promise.all([deps.overview(reading), reading])
    const queues = found.roads.flatMap(({ road, dead = 0 }) => (dead > 0 ? [[road, dead] as const] : []))
    // Dead letters of test messages do not count: nobody waits for them.
    const total = found.roads.reduce((sum, { dead = 0, tests = 0 }) => sum + Math.max(0, dead - tests), 0)
    const { accepted, done, failed, dead, unrouted, sent, refused } = deps.history.points().at(-1) ?? NO_RATES
    const rates = { accepted, done, failed, dead, unrouted, sent, refused }
    const deadLetters = { total, queues: Object.fromEntries(queues) }
    return { ...found, rates, approvals, deadLetters, troubles }
  } catch (error) {
    return { error: reasonOf(error), troubles: await deps.troubles() }
  }
}

/**
 * The letters that are new since the last poll. Compares identities, not times: two letters may
 * have the same time, and the clock of a shard may be behind. A letter older than all known ones is
 * not new: it moved up when another one was removed.
 */
function addedTo(known: readonly DeadLetter[], letters: readonly DeadLetter[]): DeadLetter[] {
  const identityOf = ({ queue, id, at }: DeadLetter) => `${queue} ${id} ${at}`
  const identities = new Set(known.map(identityOf))
  const oldestKnown = known.length < MAX_DEAD_LETTERS ? 0 : (known.at(-1)?.at ?? 0)
  return letters.filter((letter) => letter.at >= oldestKnown && !identities.has(identityOf(letter)))
}

function summaryOf({ id, queue, group, at, reason, errors, message }: DeadLetter) {
  const { message: error, code } = errors.at(-1) ?? {}
  return { id, queue, group, at, reason, ...defined({ error, code, messageId: message?.id }) }
}
