import type { Approval } from '../../core/approval.ts'
import { reasonOf } from '../../core/errors.ts'
import type { DeadLetter, Store } from '../../core/store.ts'
import type { Trouble } from '../../core/trouble.ts'
import { defined } from '../../lib/defined.ts'
import type { History, Point } from './history.ts'
import type { Readers } from './readers.ts'
import type { Reader } from './stream.ts'

const DEATHS = 20
const NOTHING: Point = { at: 0, accepted: 0, done: 0, failed: 0, dead: 0, unrouted: 0, sent: 0, refused: 0 }

export type OverviewDeps = {
  store: Pick<Store, 'jobs'>
  history: Pick<History, 'every' | 'points'>
  /** Data of `now`, besides what is known here. */
  overview(): Promise<{ roads: readonly { road: string; dead?: number }[] } & object>
  /** Pending approvals, and one that was pending. */
  approvals(): Promise<Approval[]>
  approval(id: string): Promise<Approval | undefined>
  /** Never throws, even if the store is unreachable. */
  troubles(): Promise<Trouble[]>
  now(): number
}

/** Sends readers slowly changing data: daemon state (`now`, `point`), approvals and dead letters. */
export function createOverviewSeen(deps: OverviewDeps, readers: Readers) {
  const { store, history, now } = deps
  let pending = new Map<string, Approval>()
  let [newestDeath, shownPoint, shownNow] = [0, 0, '']
  const pendingNow = async () => new Map((await deps.approvals()).map((one) => [one.id, one]))
  const overview = () => overviewWith(deps, pending.size)

  return {
    /** Starts with the current state: existing entries are not new. */
    async begin(): Promise<void> {
      pending = await pendingNow()
      const { items } = await store.jobs.deadLetters.list({ limit: 1 })
      newestDeath = items[0]?.at ?? 0
      shownPoint = history.points().at(-1)?.at ?? 0
    },
    /** Sends a new reader the current state. */
    async welcome(reader: Reader): Promise<void> {
      if (reader.wants('history')) reader.send('history', { every: history.every, points: history.points() })
      const said = await overview()
      if (readers.count() === 1) shownNow = JSON.stringify(said)
      if (reader.wants('now')) reader.send('now', { at: now(), ...said })
    },
    async tellNow(): Promise<void> {
      const said = await overview()
      const text = JSON.stringify(said)
      if (text !== shownNow) readers.tell('now', { at: now(), ...said })
      shownNow = text
    },
    /** Makes the next `tellNow` send in any case. */
    forgetNow(): void {
      shownNow = ''
    },
    tellPoint(): void {
      const last = history.points().at(-1)
      if (last && last.at > shownPoint) readers.tell('point', last)
      shownPoint = last?.at ?? 0
    },
    async lookForApprovals(): Promise<void> {
      const open = await pendingNow()
      for (const [id, one] of open) if (!pending.has(id)) readers.tell('approval', one)
      const ended = [...pending.keys()].filter((id) => !open.has(id))
      pending = open
      for (const id of ended) readers.tell('approval', (await deps.approval(id)) ?? { id, status: 'expired' })
    },
    async lookForDeaths(): Promise<void> {
      const { items: letters } = await store.jobs.deadLetters.list({ limit: DEATHS })
      for (const letter of letters.filter(({ at }) => at > newestDeath).reverse())
        readers.tell('dead', briefLetter(letter))
      newestDeath = Math.max(newestDeath, letters[0]?.at ?? 0)
    },
  }
}

async function overviewWith(deps: OverviewDeps, approvals: number): Promise<object> {
  try {
    const [found, troubles] = await Promise.all([deps.overview(), deps.troubles()])
    const queues = found.roads.flatMap(({ road, dead = 0 }) => (dead > 0 ? [[road, dead] as const] : []))
    const total = queues.reduce((sum, [, dead]) => sum + dead, 0)
    const { accepted, done, failed, dead, unrouted, sent, refused } = deps.history.points().at(-1) ?? NOTHING
    const rates = { accepted, done, failed, dead, unrouted, sent, refused }
    const deadLetters = { total, queues: Object.fromEntries(queues) }
    return { ...found, rates, approvals, deadLetters, troubles }
  } catch (error) {
    return { error: reasonOf(error), troubles: await deps.troubles() }
  }
}

/** A summary of a dead letter. */
function briefLetter({ id, queue, group, at, reason, errors, message }: DeadLetter) {
  const { message: error, code } = errors.at(-1) ?? {}
  return { id, queue, group, at, reason, ...defined({ error, code, messageId: message?.id }) }
}
