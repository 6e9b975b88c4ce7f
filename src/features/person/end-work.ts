import { resumedJobs } from '../../core/resumed-job.ts'
import type { Note, Store } from '../../core/store.ts'
import { DROPPED } from '../../engine/find-letter.ts'
import type { JobTools } from '../../engine/long-work.ts'
import { counted } from '../../lib/counted.ts'
import { pause } from '../../lib/pause.ts'
import type { Person } from './person.ts'
import type { ErasedBy } from './place.ts'

/** Maximum wait (ms) for running work. */
const RUNS_TIMEOUT = 120_000
/** Interval (ms) between checks of running work. */
const CHECK_INTERVAL = 500
/** Number of messages whose outcomes are read together. */
const PAGE_SIZE = 500

type EndDeps = Pick<Store, 'journal' | 'erasing'>

/**
 * Removes waiting work, and waits for the end of running work, which would otherwise write after
 * the erasure. `withdrawn` gets the number of messages that were taken out of the queue.
 */
export async function endWork(
  store: EndDeps,
  person: Person,
  { erasedBy, withdrawn }: { erasedBy: ErasedBy; withdrawn(count: number): Promise<void> },
  { save, signal }: JobTools,
): Promise<void> {
  const ids = [...person.messages]
  const deadline = performance.now() + RUNS_TIMEOUT
  for (;;) {
    signal.throwIfAborted()
    const isLate = performance.now() >= deadline
    let running = 0
    for (let at = 0; at < ids.length; at += PAGE_SIZE) {
      const page = ids.slice(at, at + PAGE_SIZE)
      const outcomes = await store.journal.outcomes(page)
      const removed = page.filter((_, index) => {
        const outcome = outcomes[index] ?? ''
        return /^(waiting|retrying)$/.test(outcome) || (isLate && outcome === 'running')
      })
      running += outcomes.filter((outcome) => outcome === 'running').length
      if (removed.length === 0) continue
      await withdraw(store, removed, erasedBy)
      await withdrawn(removed.length)
    }
    if (running === 0 || isLate) return
    await save({ at: counted(running, 'running attempt') })
    await pause(CHECK_INTERVAL, signal)
  }
}

/**
 * Takes messages out of the queue. If the erasure is cancelled before it erases them, their
 * histories say so: they are written first, since the daemon may be killed in between.
 */
async function withdraw({ journal, erasing }: EndDeps, ids: readonly string[], erasedBy: ErasedBy) {
  const found = await Promise.all(
    ids.map(async (id) => {
      const history = await journal.history(id)
      if (!isNoted(history, erasedBy)) await journal.note(id, [droppedNote(erasedBy, WITHDRAWN)])
      return [id, ...resumedJobs(id, history)]
    }),
  )
  await erasing.dropJobs(
    found.flat().map((id) => ({ state: 'unfinished', queue: 'dispatch', id, content: null })),
  )
}

const WITHDRAWN = 'taken out of the queue by an erasure'

/** Whether the erasure has noted it before a crash. */
function isNoted(history: readonly Note[], { job }: ErasedBy): boolean {
  return history.some(({ what, detail }) => what === DROPPED && Object(detail).job === job)
}

/** The entry in the history of a message whose work an erasure removed. */
export function droppedNote({ by, job, reference }: ErasedBy, reason: string): Note {
  const why = reference === undefined ? reason : `${reason} (${reference})`
  return { at: Date.now(), road: 'dispatch', what: DROPPED, detail: { by, reason: why, job } }
}
