import type { Caller } from '../../core/call.ts'
import { MESSAGE_TOPIC } from '../../core/event.ts'
import type { JobGroup, JobMessage, LongJob } from '../../core/long-job.ts'
import type { Store } from '../../core/store.ts'
import { groupsOf } from '../../engine/job-groups.ts'
import { lastOf } from '../../engine/letter-groups.ts'
import { withTexts } from '../../engine/message-texts.ts'
import { defined } from '../../lib/defined.ts'
import { createRecords, queueOf, type Report } from './records.ts'

/** Maximum number of events of a replay that are named. */
const MOST_NAMED = 20
/** Maximum number of withdrawn events that are named. */
const MOST_WITHDRAWN = 1_000
/** Maximum number of unread events, per partition, among which those of a replay are searched. */
const MOST_READ = 100
/** Maximum number of pages of jobs that are searched for those of a replay. */
const MAX_PAGES = 3
/** Maximum number of dead letters whose errors are read. */
const MOST_DEAD = 1_000

/**
 * The events of a replay that are not delivered, by cause, and the first of them one by one: dead
 * letters, then those whose last attempt failed, then those that were not tried yet, and those that
 * were withdrawn. Never more than the `outcomes` of the job count. Messages that the caller may read
 * have their sender and subject.
 */
export async function undeliveredEventsOf(
  store: Pick<Store, 'kv' | 'jobs' | 'topics' | 'erasing' | 'journal'>,
  job: LongJob,
  caller: Caller,
): Promise<{ messages: JobMessage[]; groups: JobGroup[] }> {
  const { dead = 0, waiting = 0, withdrawn: many = 0 } = job.outcomes ?? {}
  const records = createRecords(store.kv, String(job.target.subscription))
  const report = await records.report()
  const { ids = [] } = many > 0 ? ((await records.withdrawn.of(job.startedAt)) ?? {}) : {}
  const withdrawn = ids.slice(0, MOST_WITHDRAWN).map((id) => rowOf(job, id, 'withdrawn'))
  const newest = lastAttempts(report, job)
  const letters = dead > 0 ? (await store.jobs.deadLetters.ids()).flatMap((id) => eventIn(id, job) ?? []) : []
  const isDead = new Set(letters)
  const died = letters.slice(0, MOST_NAMED).map((id) => rowOf(job, id, 'dead', newest.get(id)))
  const places = Math.min(waiting, MOST_NAMED - died.length)
  const failing = [...newest.values()]
    .filter(({ event = '', isDead: died }) => !died && !isDead.has(event))
    .slice(0, waiting)
    .map((attempt) => {
      const { nextAt } = attempt
      const next = nextAt === undefined ? undefined : Math.max(nextAt, report.openUntil)
      return rowOf(job, attempt.event ?? '', 'retrying', { ...attempt, ...defined({ nextAt: next }) })
    })
  const rows = failing.slice(0, Math.max(0, places))
  const known = new Set([...isDead, ...rows.map(({ id }) => id)])
  const untried = await untriedEventsOf(store, job, { known, most: places - rows.length })
  const waitingRows = untried.map((id) => rowOf(job, id, 'waiting'))
  const named = [...died, ...rows, ...waitingRows, ...withdrawn]
  const messages = job.target.topic === MESSAGE_TOPIC ? await withTexts(store, named, caller) : named
  const groups = [
    ...groupsOf([...(await deadRows(store, job, letters)), ...failing]),
    ...untriedGroup('waiting', waiting - failing.length, waitingRows),
    ...untriedGroup('withdrawn', many, withdrawn),
  ]
  return { messages, groups: groups.map((group) => withExample(group, messages)) }
}

/** The dead events of a replay, with their errors. */
async function deadRows(
  { jobs }: Pick<Store, 'jobs'>,
  job: LongJob,
  events: readonly string[],
): Promise<JobMessage[]> {
  const queue = queueOf(String(job.target.subscription))
  const rows: JobMessage[] = []
  for (const id of events.slice(0, MOST_DEAD)) {
    const letter = await jobs.deadLetters.get(`${queue}/${id}.${job.startedAt}`, queue)
    rows.push(rowOf(job, id, 'dead', letter && { reason: lastOf(letter).message }))
  }
  return [...rows, ...events.slice(MOST_DEAD).map((id) => rowOf(job, id, 'dead'))]
}

/** The events that were not tried yet, or are withdrawn. Not all of them may be known. */
function untriedGroup(outcome: string, count: number, [first]: readonly JobMessage[]): JobGroup[] {
  if (count <= 0) return []
  return [{ outcome, count, ...(first && { queue: first.queue, example: { id: first.id } }) }]
}

function withExample(group: JobGroup, messages: readonly JobMessage[]): JobGroup {
  const text = messages.find(({ id }) => id === group.example?.id)?.text
  return group.example && text !== undefined ? { ...group, example: { ...group.example, text } } : group
}

type Attempt = Report['attempts'][number]

/** The last attempt at each event of a replay, by event, if it failed; newest first. */
function lastAttempts({ attempts }: Report, { startedAt }: LongJob): Map<string, Attempt> {
  const last = new Map<string, Attempt>()
  for (const attempt of attempts) {
    const { event, since } = attempt
    if (since === startedAt && event !== undefined && !last.has(event)) last.set(event, attempt)
  }
  return new Map(
    [...last].filter(([, { reason, deliveredAt }]) => reason !== undefined && deliveredAt === undefined),
  )
}

/** The event of a job of the queue, or of a dead letter, if it belongs to the replay. */
function eventIn(id: string, { target, startedAt }: LongJob): string | undefined {
  const [start, end] = [`${queueOf(String(target.subscription))}/`, `.${startedAt}`]
  return id.startsWith(start) && id.endsWith(end) ? id.slice(start.length, -end.length) : undefined
}

function rowOf(
  { target }: LongJob,
  id: string,
  outcome: string,
  { reason: error, nextAt }: Partial<Attempt> = {},
): JobMessage {
  const queue = queueOf(String(target.subscription))
  return { id, queue, outcome, ...defined({ error, nextAt: outcome === 'dead' ? undefined : nextAt }) }
}

/** Events of a replay that the push has not read yet, or that wait behind others of their lane. */
async function untriedEventsOf(
  { topics, erasing }: Pick<Store, 'topics' | 'erasing'>,
  job: LongJob,
  { known, most }: { known: ReadonlySet<string>; most: number },
): Promise<string[]> {
  const found = new Set<string>()
  const isFull = () => found.size >= most
  const { topic, group } = job.target
  for (let partition = 0; partition < topics.partitions(String(topic)) && !isFull(); partition++) {
    const read = { group: String(group), max: MOST_READ, mode: 'peek', partition, withRounds: true } as const
    const [batch] = await topics.read(String(topic), [read])
    for (const [at, { id }] of (batch?.items ?? []).entries())
      if (batch?.rounds?.[at] === job.startedAt && !known.has(id)) found.add(id)
  }
  let after: string | undefined
  for (let page = 0; page < MAX_PAGES && !isFull(); page++) {
    const { items, next } = await erasing.jobs(after, { queue: queueOf(String(job.target.subscription)) })
    for (const id of items.flatMap((each) => eventIn(each.id, job) ?? [])) if (!known.has(id)) found.add(id)
    if (next === undefined) break
    after = next
  }
  return [...found].slice(0, Math.max(0, most))
}
