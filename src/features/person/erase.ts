import { z } from 'zod'
import type { RecordAudit } from '../../core/audit.ts'
import { TriviumError } from '../../core/errors.ts'
import type { Store } from '../../core/store.ts'
import type { JobTools, WorkKind } from '../../engine/long-work.ts'
import { pause } from '../../lib/pause.ts'
import type { DataDirs } from './data-dirs.ts'
import { fromStored, type Person, personSchema, SUBJECT, toStored } from './person.ts'
import type { Place, Subject } from './place.ts'

export const KIND = 'person-erase'
const SUBJECT_KEPT = 30 * 86_400_000
/** Running work may write something during the erasure; how often the search is repeated. */
const MOST_ROUNDS = 5
/** How long (ms) daemons collect counts and lines before they store them. */
const SETTLES = 6_000

const dataSchema = z.object({
  identities: z.array(z.string()),
  round: z.number().default(1),
  counts: z.record(z.string(), z.number()).default({}),
  /** Only free space remains to be overwritten, and no names are needed any more. */
  isErased: z.boolean().default(false),
})
type Data = z.infer<typeof dataSchema>

type EraseDeps = {
  store: Pick<Store, 'kv' | 'erasing' | 'journal'>
  places: readonly Place[]
  collect(identities: readonly string[], signal: AbortSignal): Promise<Person>
  subjectOf(person: Person): Subject
  dirs: DataDirs
  record: RecordAudit
}

/** Erases one person, in rounds until nothing more is found. After a crash it continues in the same round. */
export function createEraseKind(deps: EraseDeps): WorkKind {
  const { store, places, dirs } = deps
  return {
    kind: KIND,
    async run({ id, by, data: given }, tools) {
      const data = dataSchema.parse(given)
      try {
        if (!data.isErased) await eraseAll(id, data, tools)
      } catch (error) {
        // Needed by a job that continues later.
        if (isEnd(error, tools.signal)) await store.kv.delete(SUBJECT + id)
        throw error
      }
      await store.kv.delete(SUBJECT + id)
      await tools.save({ data: { ...data, identities: [], isErased: true }, at: 'free space' })
      await store.erasing.overwrite()
      const total = Object.values(data.counts).reduce((sum, count) => sum + count, 0)
      await deps.record({
        by,
        via: 'code',
        action: 'person-erased',
        target: { job: id, records: total },
        outcome: 'ok',
      })
      return { counts: data.counts, records: total }
    },
  }

  async function eraseAll(id: string, data: Data, tools: JobTools): Promise<void> {
    const subject = deps.subjectOf(await known(id, data, tools))
    await endRuns(store, subject.person, tools)
    for (; data.round <= MOST_ROUNDS; data.round++) {
      const erased = await eraseRound(places, subject, data, tools)
      if (erased === 0 && data.round > 1) break
      await tools.save({ data, at: 'data in the memory of daemons' })
      await pause(SETTLES, tools.signal)
    }
    await dirs.eraseOthers(id, tools)
  }

  /** The person's data is found once, because later a part of it is gone. */
  async function known(id: string, { identities }: Data, { save, signal }: JobTools): Promise<Person> {
    const stored = personSchema.safeParse((await store.kv.get(SUBJECT + id))?.value).data
    if (stored) return fromStored(stored)
    await save({ at: 'looking' })
    const person = await deps.collect(identities, signal)
    await store.kv.set(SUBJECT + id, toStored(person), { ttl: SUBJECT_KEPT })
    return person
  }
}

/** Whether the job is cancelled or failed permanently, so that no daemon continues it. */
function isEnd(error: unknown, { aborted }: AbortSignal): boolean {
  if (!(error instanceof TriviumError)) return !aborted
  return error.code === 'job_cancelled' || (!aborted && !error.retryable)
}

/** How long (ms) to wait for running work, and how often to check. */
const [PATIENCE, LOOK_EVERY] = [120_000, 500]
const PAGE = 500

/**
 * Waiting work does not start any more. Running work may finish, because it would otherwise write after the
 * erasure.
 */
async function endRuns({ journal, erasing }: EraseDeps['store'], person: Person, { save, signal }: JobTools) {
  const ids = [...person.messages]
  for (const end = performance.now() + PATIENCE; performance.now() < end; ) {
    signal.throwIfAborted()
    let running = 0
    for (let at = 0; at < ids.length; at += PAGE) {
      const some = ids.slice(at, at + PAGE)
      const outcomes = await journal.outcomes(some)
      const waiting = some.filter((_, index) => /^(waiting|retrying)$/.test(outcomes[index] ?? ''))
      running += outcomes.filter((outcome) => outcome === 'running').length
      await erasing.dropJobs(
        waiting.map((id) => ({ state: 'unfinished', queue: 'dispatch', id, content: null })),
      )
    }
    if (running === 0) return
    await save({ at: `${running} running attempts` })
    await pause(LOOK_EVERY, signal)
  }
}

async function eraseRound(
  places: readonly Place[],
  subject: Subject,
  data: Data,
  { save, signal }: JobTools,
): Promise<number> {
  let all = 0
  for (const [at, { name, erase }] of places.entries()) {
    await save({ data, at: name, ...(data.round === 1 && { done: at }) })
    for await (const count of erase(subject)) {
      signal.throwIfAborted()
      all += count
      data.counts[name] = (data.counts[name] ?? 0) + count
      await save({ data })
    }
  }
  await save({ data, done: places.length })
  return all
}
