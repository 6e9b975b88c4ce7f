import { z } from 'zod'
import type { RecordAudit } from '../../core/audit.ts'
import { TriviumError, toTriviumError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Store } from '../../core/store.ts'
import { DAY } from '../../core/units.ts'
import type { JobTools, WorkKind } from '../../engine/long-work.ts'
import type { Outside } from '../../lib/copies-at.ts'
import { defined } from '../../lib/defined.ts'
import { addCount } from '../../lib/name-counts.ts'
import { pause } from '../../lib/pause.ts'
import { waitedText } from '../../lib/unfinished-job.ts'
import { uncounted } from './before-restore.ts'
import type { Wanted } from './collect.ts'
import { type DataDirs, dirSchema } from './data-dirs.ts'
import { endWork } from './end-work.ts'
import { fromStored, type Person, personSchema, SUBJECT_PREFIX, toStored } from './person.ts'
import type { ErasedBy, Place, Subject } from './place.ts'
import { proofOf, sinceCount } from './proof.ts'
import { sumOf, talliesOf } from './tallies.ts'

export const KIND = 'person-erase'
const SUBJECT_TTL = 30 * DAY
/** Maximum number of rounds. Later rounds erase what running work wrote during earlier ones. */
const MAX_ROUNDS = 5
/**
 * Wait (ms) after a round, in which daemons store the counts and lines that they have in memory.
 */
const FLUSH_TIME = 6_000

const dataSchema = z.object({
  identities: z.array(z.string()),
  /** Messages of others that are erased too. */
  messages: z.array(z.string()).default([]),
  /** What was counted before, to say why another number is erased. */
  counted: z
    .object({
      total: z.number(),
      counts: z.record(z.string(), z.number()),
      kinds: z.record(z.string(), z.record(z.string(), z.number())),
    })
    .exactOptional(),
  round: z.number().default(1),
  /** Number of erased records by place. */
  counts: z.record(z.string(), z.number()).default({}),
  /** The same by place and kind. */
  kinds: z.record(z.string(), z.record(z.string(), z.number())).default({}),
  /** What was unfinished when the erasure began, by kind. */
  open: z.record(z.string(), z.number()).exactOptional(),
  /** The same by place, without erased items. */
  openIn: z.record(z.string(), z.record(z.string(), z.number())).default({}),
  /** Erased unfinished items, by kind. */
  openErased: z.record(z.string(), z.number()).default({}),
  /** Number of messages that were taken out of the queue, before they are erased. */
  withdrawn: z.number().default(0),
  /** Groups and push subscriptions that read messages, and may have copies. */
  receivers: z.array(z.string()).exactOptional(),
  /** Where other copies may be, which an erasure does not reach. */
  outside: z.record(z.string(), z.array(z.string())).exactOptional(),
  /** The data directories in which the person is erased when their daemons run again. */
  later: z.array(dirSchema).default([]),
  /** Whether only free space remains to be overwritten. Then the identities are not needed. */
  isErased: z.boolean().default(false),
})
type Data = z.infer<typeof dataSchema>

type EraseDeps = {
  store: Pick<Store, 'kv' | 'erasing' | 'journal'>
  outside(person: Person, signal: AbortSignal): Promise<Outside>
  places: readonly Place[]
  collect(wanted: Wanted, signal: AbortSignal): Promise<Person>
  subjectOf(person: Person): Subject
  dirs: Pick<DataDirs, 'eraseOthers'>
  dataDir: string
  record: RecordAudit
}

/**
 * Erases one person, in rounds until nothing more is found. After a crash it continues in the same
 * round.
 */
export function createEraseKind(deps: EraseDeps): WorkKind {
  const { store, places, dirs } = deps
  return {
    kind: KIND,
    async run({ id, by, data: stored, target }, tools) {
      const data = dataSchema.parse(stored)
      const record = (outcome: string) => recordErasure(deps.record, { id, by, target, data, outcome })
      try {
        const { reference } = target
        const erasedBy = { by, job: id, ...(typeof reference === 'string' && { reference }) }
        if (!data.isErased) await eraseAll(erasedBy, data, tools)
        await store.kv.delete(SUBJECT_PREFIX + id)
        await tools.save({
          data: { ...data, identities: [], messages: [], isErased: true },
          at: 'free space',
        })
      } catch (error) {
        // A job that continues later needs the stored person.
        if (isFinal(error, tools.signal)) {
          await store.kv.delete(SUBJECT_PREFIX + id)
          const { code } = toTriviumError(error)
          await record(code === 'job_cancelled' ? 'cancelled' : code)
        }
        throw error
      }
      const { isRewritten } = await store.erasing.overwrite()
      await record('ok')
      return {
        ...erasedIn(data),
        ...(data.counted && { counted: data.counted.total, since: sinceCount(data.counted, data) }),
        ...(!isRewritten && { needsCompact: true }),
        ...(await uncounted(deps.dataDir)),
      }
    },
    soFar: ({ data, done }) => erasedSoFar(dataSchema.parse(data), places.slice(done)),
  }

  async function eraseAll(erasedBy: ErasedBy, data: Data, tools: JobTools): Promise<void> {
    const { job: id } = erasedBy
    const subject = { ...deps.subjectOf(await loadPerson(id, data, tools)), erasedBy }
    if (!data.open) Object.assign(data, await openOf(places, subject, tools.signal))
    if (!data.receivers) {
      const { receivers, ...outside } = await deps.outside(subject.person, tools.signal)
      Object.assign(data, { receivers, outside })
    }
    await tools.save({ data })
    const withdrawn = (count: number) => {
      data.withdrawn += count
      return tools.save({ data })
    }
    await endWork(store, subject.person, { erasedBy, withdrawn }, tools)
    while (data.round <= MAX_ROUNDS) {
      const erased = await eraseRound(places, subject, data, tools)
      if (erased === 0 && data.round > 1) break
      await tools.save({ data, at: 'data in the memory of daemons' })
      await pause(FLUSH_TIME, tools.signal)
      data.round++
    }
    data.later = await dirs.eraseOthers(id, tools)
  }

  /** Collects the person only once, because a part of their data is gone in later rounds. */
  async function loadPerson(
    id: string,
    { identities, messages }: Data,
    { save, signal }: JobTools,
  ): Promise<Person> {
    const stored = personSchema.safeParse((await store.kv.get(SUBJECT_PREFIX + id))?.value).data
    if (stored) return fromStored(stored)
    await save({ at: 'the messages of the person' })
    const person = await deps.collect({ identities, messages }, signal)
    await store.kv.set(SUBJECT_PREFIX + id, toStored(person), { ttl: SUBJECT_TTL })
    return person
  }
}

/** What was erased, in numbers. */
function erasedIn({ counts, kinds, open = {}, later, receivers = [], outside }: Data) {
  return {
    counts,
    kinds,
    open,
    records: sumOf(counts),
    ...(receivers.length > 0 && { receivers }),
    ...defined({ outside }),
    ...(later.length > 0 && { later }),
  }
}

/** The same, of an erasure that did not end. `left`: the places that it has not searched completely. */
function erasedSoFar(data: Data, rest: readonly Place[]) {
  const left = data.isErased || data.round > 1 ? [] : rest.map(({ name }) => name)
  const open = left.length === 0 ? data.open : data.openErased
  return { ...erasedIn({ ...data, ...defined({ open }) }), ...withdrawnIn(data, left), left }
}

/** The messages that were taken out of the queue and may not be erased. */
function withdrawnIn({ withdrawn }: Data, left: readonly string[]) {
  return withdrawn > 0 && left.length > 0 && { withdrawn }
}

type Ended = { id: string; by: string; target: JsonObject; data: Data; outcome: string }

/** The entry of the audit log: the number of erased records, also if the erasure was cancelled. */
function recordErasure(record: RecordAudit, { id, by, target, data, outcome }: Ended): Promise<void> {
  return record({
    by,
    via: 'system',
    action: 'person-erased',
    // The number of messages if only these were erased, and the reference of the request.
    target: { job: id, records: sumOf(data.counts), ...target },
    result: {
      ...proofOf({ ...data, open: outcome === 'ok' ? (data.open ?? {}) : data.openErased }),
      ...(data.receivers?.length && { receivers: data.receivers.join(', ') }),
      ...(outcome !== 'ok' && data.withdrawn > 0 && { withdrawn: waitedText(data.withdrawn) }),
    },
    outcome,
  })
}

/** What is unfinished, by kind. Running work would end meanwhile, so it is counted first. */
async function openOf(places: readonly Place[], subject: Subject, signal: AbortSignal) {
  const open: Record<string, number> = {}
  const openIn: Record<string, Record<string, number>> = {}
  for (const place of places.filter(({ mayBeOpen }) => mayBeOpen)) {
    const found = (await talliesOf([place], subject, signal)).open
    if (Object.keys(found).length > 0) openIn[place.name] = found
    addCounts(open, found)
  }
  return { open, openIn }
}

function addCounts(sum: Record<string, number>, counts: Readonly<Record<string, number>>): void {
  for (const [kind, count] of Object.entries(counts)) addCount(sum, kind, count)
}

/** Whether the job is cancelled or failed permanently, so that no daemon continues it. */
function isFinal(error: unknown, { aborted }: AbortSignal): boolean {
  if (!(error instanceof TriviumError)) return !aborted
  return error.code === 'job_cancelled' || (!aborted && !error.retryable)
}

/** Counts erased unfinished items of a place, up to the number that it had. */
function moveOpen(data: Data, place: string, erased: Readonly<Record<string, number>> = {}): void {
  const left = data.openIn[place]
  if (!left) return
  for (const [kind, count] of Object.entries(erased)) {
    const many = Math.min(count, left[kind] ?? 0)
    if (many > 0) addCount(data.openErased, kind, many)
    left[kind] = (left[kind] ?? 0) - many
  }
}

/** Erases once in all places. Resolves with the number of erased records. */
async function eraseRound(
  places: readonly Place[],
  subject: Subject,
  data: Data,
  { save, signal }: JobTools,
): Promise<number> {
  let total = 0
  for (const [at, { name, erase }] of places.entries()) {
    await save({ data, at: name, ...(data.round === 1 && { done: at }) })
    for await (const erased of erase(subject)) {
      signal.throwIfAborted()
      const { count, kinds } = erased
      total += count
      addCount(data.counts, name, count)
      if (Object.keys(kinds).length > 0) {
        data.kinds[name] ??= {}
        addCounts(data.kinds[name], kinds)
      }
      moveOpen(data, name, erased.open)
      await save({ data })
    }
    moveOpen(data, name, data.openIn[name])
    delete data.openIn[name]
  }
  await save({ data, done: places.length })
  return total
}
