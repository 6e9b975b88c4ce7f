import { z } from 'zod'
import type { Json } from '../core/json.ts'
import { type LaterAction, type LongJob, laterActionSchema } from '../core/long-job.ts'
import type { Store } from '../core/store.ts'
import { DAY } from '../core/units.ts'
import { updateKv } from '../core/update-kv.ts'
import { defined } from '../lib/defined.ts'
import { DEAD_LETTERS_KIND, type LetterKey } from './dead-letter-work.ts'

const PREFIX = 'retried-letters:'
/** How long (ms) the letters of a job are known: longer than the job is kept after its end. */
const RETENTION_MS = 8 * DAY
/** Maximum number of remembered letters of a job. The outcomes of further ones are not known. */
export const MOST_LETTERS = 1_000
/** Maximum number of jobs whose outcomes are fixed when their letters are retried or dropped. */
const MOST_FIXED = 100

/** The last element: what was done with it since, or that the retry was cancelled, and what was done then. */
const storedSchema = z.array(
  z.tuple([
    z.string(),
    z.string(),
    z.string().nullable(),
    z
      .union([
        laterActionSchema,
        z.object({ do: z.literal('withdraw'), later: laterActionSchema.exactOptional() }),
      ])
      .optional(),
  ]),
)
type Stored = z.infer<typeof storedSchema>
type Fate = NonNullable<Stored[number][3]>

/**
 * A letter that a job retried. `later`: it was a dead letter again, and then retried or dropped.
 * `withdrawn`: it was a dead letter again because the retry was cancelled before it was done. The
 * outcomes of the job do not include what later actions did with it.
 */
export type RememberedLetter = LetterKey & { later?: LaterAction; withdrawn?: true }

/** Remembers which letters a job retried, and which of them became dead letters again. */
export function createLettersOfJobs(deps: {
  kv: Store['kv']
  /** The jobs of a kind, newest first. */
  ofKind(kind: string): Promise<LongJob[]>
}) {
  const { kv } = deps
  const read = async (job: string): Promise<Stored> => storedOf((await kv.get(PREFIX + job))?.value)
  /** `fateOf`: undefined for a letter that is not changed. */
  const fix = async (job: string, fateOf: (stored: Stored[number]) => Fate | undefined) => {
    if (!(await read(job)).some(fateOf)) return
    await updateKv(kv, PREFIX + job, (stored) => {
      const value = storedOf(stored).map(([id, queue, messageId, known]) =>
        jsonOf([id, queue, messageId, fateOf([id, queue, messageId, known]) ?? known]),
      )
      return { value, ttl: RETENTION_MS }
    })
  }
  return {
    async of(job: string): Promise<RememberedLetter[]> {
      return (await read(job)).map(([id, queue, messageId, fate]) => {
        const letter = { id, queue, messageId: messageId ?? undefined }
        if (fate?.do === 'withdraw') return { ...letter, withdrawn: true, ...defined({ later: fate.later }) }
        return { ...letter, ...defined({ later: fate }) }
      })
    },
    /** `before`: the number of letters that the job has added. An erasure may have removed some. */
    async add(job: string, letters: readonly LetterKey[], before: number): Promise<void> {
      const added = letters.slice(0, Math.max(0, MOST_LETTERS - before))
      if (added.length === 0) return
      const entries = added.map(({ id, queue, messageId }): Stored[number] => [id, queue, messageId ?? null])
      await updateKv(kv, PREFIX + job, (stored) => {
        return { value: [...storedOf(stored), ...entries].map(jsonOf), ttl: RETENTION_MS }
      })
    },
    /** Records that letters of a job are dead letters again, as before it. */
    async withdrawn(job: string, letters: readonly LetterKey[]): Promise<void> {
      const keys = keysOf(letters)
      await fix(job, ([id, queue]) => (keys.has(`${queue} ${id}`) ? { do: 'withdraw' } : undefined))
    },
    /**
     * To be called before dead letters are retried or dropped: for the jobs that retried them before,
     * they have failed again or were withdrawn, regardless of what happens to them now.
     */
    async handOver(letters: readonly LetterKey[], later: LaterAction): Promise<void> {
      const keys = keysOf(letters)
      const fateOf = ([id, queue, , known]: Stored[number]): Fate | undefined => {
        if (!keys.has(`${queue} ${id}`)) return undefined
        if (known?.do === 'withdraw') return known.later ? undefined : { ...known, later }
        return known ? undefined : later
      }
      const jobs = (await deps.ofKind(DEAD_LETTERS_KIND)).filter(
        ({ id, target }) => target.do === 'retry' && id !== later.job,
      )
      await Promise.all(jobs.slice(0, MOST_FIXED).map(({ id }) => fix(id, fateOf)))
    },
  }
}

function keysOf(letters: readonly LetterKey[]): Set<string> {
  return new Set(letters.map(({ id, queue }) => `${queue} ${id}`))
}

function storedOf(value: unknown): Stored {
  return storedSchema.safeParse(value).data ?? []
}

function jsonOf([id, queue, messageId, fate]: Stored[number]): Json {
  return fate ? [id, queue, messageId, fate] : [id, queue, messageId]
}
