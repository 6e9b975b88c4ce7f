import type { Erasing, ListPage, StoredJob, StoredNote } from '../../core/erasing.ts'
import { defined } from '../../lib/defined.ts'
import type { JobRow } from './job-rows.ts'
import type { JournalTable } from './journal.ts'
import { ROADS } from './notes.ts'
import type { Parts } from './parts.ts'
import { createRemoval, type Removal } from './removal.ts'
import { fromJson } from './sql.ts'
import type { TopicRow } from './topic-log.ts'

/** Jobs per page. */
const JOB_PAGE = 500
/** Notes per page. */
const NOTE_PAGE = 2_000

type Job = JobRow & { n: number; queue_name: string }
type Done = { queue: number; queue_name: string; id: string; at: number; result: string | null }
type NoteRow = {
  seq: number
  n: number
  at: number
  road: number
  what: string
  detail: string | null
  id: string | null
}

/**
 * Finds and removes the data of a person. `forgetClaim` drops what this process has cached of a
 * claimed job.
 */
export function createErasing(
  parts: Parts,
  journal: JournalTable,
  forgetClaim: (n: number) => void,
  overwrite: Erasing['overwrite'],
): Erasing {
  const { sql, writer, queues, read } = parts
  const removal = createRemoval(parts)
  const jobs = createJobRemoval(parts, forgetClaim)

  return {
    dropMessages: (ids) =>
      writer.write(() => {
        const seqs = [...new Set(ids)].flatMap((id) => journal.find(id) ?? [])
        if (seqs.length === 0) return 0
        // The messages may be in memory for dispatch.
        journal.forgetFresh()
        const list = JSON.stringify(seqs)
        jobs.remove(
          sql.all<{
            n: number
          }>`SELECT n FROM job WHERE message IN (SELECT value FROM json_each(${list}))`.map(({ n }) => n),
        )
        const conversations = sql.all<{
          gateway: number
          conversation: string
        }>`SELECT DISTINCT gateway, conversation
          FROM journal WHERE conversation IS NOT NULL AND seq IN (SELECT value FROM json_each(${list}))`
        const count = removal.messages(seqs, false)
        // The cursor contains the name of the conversation, so it is removed with the last message.
        for (const { gateway, conversation } of conversations)
          sql.run`DELETE FROM conversation_taken WHERE gateway = ${gateway} AND conversation = ${conversation}
            AND NOT EXISTS (SELECT 1 FROM journal WHERE gateway = ${gateway} AND conversation = ${conversation})`
        return count
      }),
    // Pages continue at `job N`, and after the last one at `done QUEUE ID`.
    jobs: (after, only) =>
      read(() => {
        if (typeof only === 'object') return ofQueue(parts, only.queue, after)
        const place = after ?? 'job 0'
        return place.startsWith('job ') ? unfinished(parts, place, only) : ended(parts, place)
      }),
    dropJobs: (some) =>
      writer.write(() => {
        for (const { state, queue, id } of some) {
          const number = queues.find(queue) ?? 0
          if (state === 'done') sql.run`DELETE FROM done WHERE queue = ${number} AND id = ${id}`
          else
            jobs.remove(
              sql.all<{ n: number }>`SELECT n FROM job WHERE queue = ${number} AND id = ${id}`.map(
                ({ n }) => n,
              ),
            )
        }
      }),
    notes: (after = '0 0') => read(() => notesAfter(parts, after)),
    dropNotes: (notes) =>
      writer.write(() => {
        for (const { place } of notes) {
          const [seq = 0, n = 0] = place.split(' ').map(Number)
          sql.run`DELETE FROM note WHERE seq = ${seq} AND n = ${n}`
        }
      }),
    changeNotes: (changes) =>
      writer.write(() => {
        for (const { note, detail } of changes) {
          const [seq = 0, n = 0] = note.place.split(' ').map(Number)
          sql.run`UPDATE note SET detail = ${JSON.stringify(detail)} WHERE seq = ${seq} AND n = ${n}`
        }
      }),
    ...createTopicRemoval(parts, removal),
    overwrite,
  }
}

function unfinished({ sql }: Parts, after: string, only?: 'unfinished'): ListPage<StoredJob> {
  const rows = sql.all<Job>`SELECT job.*, q.name AS queue_name FROM job JOIN queue q ON q.id = job.queue
    WHERE n > ${Number(after.slice('job '.length))} ORDER BY n LIMIT ${JOB_PAGE} + 0`
  const last = rows.at(-1)
  if (last && rows.length === JOB_PAGE) return { items: rows.map(storedJob), next: `job ${last.n}` }
  return { items: rows.map(storedJob), ...(only === undefined && { next: 'done 0 ' }) }
}

/** The unfinished jobs of one queue, by their ids. */
function ofQueue({ sql, queues }: Parts, queue: string, after = ''): ListPage<StoredJob> {
  const rows = sql.all<Job>`SELECT job.*, ${queue} AS queue_name FROM job
    WHERE queue = ${queues.find(queue) ?? 0} AND id > ${after} ORDER BY id LIMIT ${JOB_PAGE} + 0`
  const last = rows.at(-1)
  return { items: rows.map(storedJob), ...(last && rows.length === JOB_PAGE && { next: last.id }) }
}

function storedJob(row: Job): StoredJob {
  const { queue_name: queue, id, lane, grp, message_id, data, errors, kept, first_run } = row
  const content = { lane, group: grp, errors: JSON.parse(errors) }
  const rest = defined({
    messageId: message_id ?? undefined,
    data: fromJson(data),
    message: fromJson(kept),
    firstRun: fromJson(first_run),
  })
  return { state: 'unfinished', queue, id, content: { ...content, ...rest } }
}

function ended({ sql }: Parts, after: string) {
  const [, queue = '0', id = ''] = /^done (\d+) (.*)$/s.exec(after) ?? []
  const rows = sql.all<Done>`SELECT done.*, q.name AS queue_name FROM done JOIN queue q ON q.id = done.queue
    WHERE (done.queue, done.id) > (${Number(queue)}, ${id}) ORDER BY done.queue, done.id LIMIT ${JOB_PAGE} + 0`
  const items = rows.map(({ queue_name: queue, id, at, result }): StoredJob => {
    return { state: 'done', queue, id, content: { at, ...defined({ result: fromJson(result) }) } }
  })
  const last = rows.at(-1)
  return { items, ...(last && rows.length === JOB_PAGE && { next: `done ${last.queue} ${last.id}` }) }
}

function notesAfter({ sql }: Parts, after: string) {
  const [seq = 0, n = 0] = after.split(' ').map(Number)
  const rows = sql.all<NoteRow>`SELECT note.*, journal.id FROM note LEFT JOIN journal ON journal.seq = note.seq
    WHERE (note.seq, note.n) > (${seq}, ${n}) ORDER BY note.seq, note.n LIMIT ${NOTE_PAGE} + 0`
  const items = rows.map(({ id, at, road, what, detail, ...place }): StoredNote => {
    const content = { messageId: id, at, road: ROADS[road] ?? 'dispatch', what }
    return {
      place: `${place.seq} ${place.n}`,
      content: { ...content, ...defined({ detail: fromJson(detail) }) },
    }
  })
  const last = items.at(-1)
  return { items, ...(last && items.length === NOTE_PAGE && { next: last.place }) }
}

/** Removes jobs wherever they are in their lanes. Inside a transaction only. */
function createJobRemoval({ sql, counters, signals, now }: Parts, forgetClaim: (n: number) => void) {
  type Row = { n: number; queue: number; name: string; lane: string }
  return {
    remove(numbers: readonly number[]): void {
      const rows = sql.all<Row>`SELECT job.n, job.queue, q.name, job.lane FROM job JOIN queue q ON q.id = job.queue
        WHERE n IN (SELECT value FROM json_each(${JSON.stringify(numbers)}))`
      for (const { n, queue, name, lane } of rows) {
        forgetClaim(n)
        sql.run`DELETE FROM job WHERE n = ${n}`
        counters.add(`jobs ${queue}`, -1)
        // The first job of the lane becomes its head, unless it is running.
        sql.run`UPDATE job SET state = 1, due = max(due, ${now()}) WHERE state = 0 AND n =
          (SELECT n FROM job WHERE queue = ${queue} AND lane = ${lane} ORDER BY n LIMIT 1)`
        signals.raise(`jobs:${name}`)
      }
    },
  }
}

function createTopicRemoval(
  { sql, writer, read, now }: Parts,
  { dropPending, noteErased, forgetErased }: Pick<Removal, 'dropPending' | 'noteErased' | 'forgetErased'>,
): Pick<Erasing, 'topics' | 'dropEvents' | 'dropTopic'> {
  const find = (name: string) =>
    sql.get<TopicRow>`SELECT id, name, last FROM topic WHERE name = ${name} AND id > 1`
  return {
    topics: () => read(() => sql.all<TopicRow>`SELECT name FROM topic WHERE id > 1`.map(({ name }) => name)),
    dropEvents: (name, ids) =>
      writer.write(() => {
        const topic = find(name)
        if (!topic) return
        const list = JSON.stringify(ids)
        const erased = sql.all<{ position: number }>`DELETE FROM event
          WHERE topic = ${topic.id} AND id IN (SELECT value FROM json_each(${list})) RETURNING position`
        dropPending(topic.id, topic.last)
        noteErased(
          topic.id,
          erased.map(({ position }) => position),
        )
        forgetErased(topic.id)
        sql.run`UPDATE topic SET oldest = NULL, emptied = ${now()} WHERE id = ${topic.id}
          AND NOT EXISTS (SELECT 1 FROM event WHERE event.topic = ${topic.id})`
      }),
    dropTopic: (name) =>
      writer.write(() => {
        const topic = find(name)
        if (!topic) return
        sql.run`DELETE FROM event WHERE topic = ${topic.id}`
        sql.run`DELETE FROM erased WHERE topic = ${topic.id}`
        sql.run`DELETE FROM pending WHERE consumer IN (SELECT id FROM consumer WHERE topic = ${topic.id})`
        sql.run`DELETE FROM redelivered WHERE consumer IN (SELECT id FROM consumer WHERE topic = ${topic.id})`
        sql.run`DELETE FROM consumer WHERE topic = ${topic.id}`
        sql.run`DELETE FROM topic WHERE id = ${topic.id}`
      }),
  }
}
