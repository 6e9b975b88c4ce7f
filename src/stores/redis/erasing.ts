import type { Erasing, ListPage, StoredJob, StoredNote } from '../../core/erasing.ts'
import { parseJson } from '../../core/json.ts'
import { positionOf } from '../../core/message-id.ts'
import { inBatches } from './batches.ts'
import { decodeNote, encodeNotes } from './codec.ts'
import type { Server } from './scripts.ts'
import { removeFromSet } from './topic-sets.ts'

/** Number of jobs per page. */
const JOB_PAGE = 200
/** Number of lists of notes per page. */
const LISTS = 64
/** Number of positions whose notes share a list; see lua/lib/notes.lua. */
const PER_LIST = 32

type Found = [sequence: string, id: string, fields: string[]]

/**
 * Finds and removes the data of a person on one shard. All topics except `gateway-message` are on
 * the first shard.
 */
export function createErasing(server: Server, forgetFresh: () => void): Erasing {
  const { run, call, scan, places, roots } = server
  const { main } = roots

  const unfinished = async (queue: string, after: string): Promise<ListPage<StoredJob>> => {
    const found = await run<Found[]>('erase', main, 'unfinished', queue, after, JOB_PAGE)
    const items = found.map(([, id, fields]): StoredJob => {
      return { state: 'unfinished', queue, id, content: fields.map((text) => parseJson(text) ?? text) }
    })
    const last = found.at(-1)
    return { items, ...(last && found.length === JOB_PAGE && { next: `${queue} ${last[0]}` }) }
  }

  const results = async (queues: readonly string[]): Promise<StoredJob[]> => {
    const items: StoredJob[] = []
    for await (const keys of scan(`${main}jobs:`, ':done:')) {
      for (const key of keys) {
        // Ids and lanes may contain `:done:` too.
        const queue = queues.find((name) => key.startsWith(`${main}jobs:${name}:done:`))
        if (queue === undefined) continue
        const id = key.slice(`${main}jobs:${queue}:done:`.length)
        const [, at, result = ''] = /^(\d+) (.*)$/s.exec((await call<string | null>('GET', key)) ?? '') ?? []
        if (at !== undefined)
          items.push({
            state: 'done',
            queue,
            id,
            content: { at: Number(at), result: parseJson(result) ?? null },
          })
      }
    }
    return items
  }

  return {
    dropMessages: async (ids) => {
      forgetFresh()
      const items = ids.flatMap((id) => {
        const parts = places.partsOf(id)
        return parts ? [parts] : []
      })
      const counts = await inBatches(items, async (some) => [
        await run<number>('erase', main, 'messages', ...some.flat()),
      ])
      return counts.reduce((sum, count) => sum + count, 0)
    },
    jobs: async (after = '', only) => {
      const queues = (await call<string[]>('SMEMBERS', `${main}queues`)).toSorted()
      const [, queue = queues[0] ?? '', sequence = '0'] = /^(\S+) (\S+)$/.exec(after) ?? []
      if (typeof only === 'object') return unfinished(only.queue, sequence)
      if (after === 'done' || queues.length === 0)
        return { items: only === undefined ? await results(queues) : [] }
      const part = await unfinished(queue, sequence)
      const next = queues[queues.indexOf(queue) + 1]
      return { next: next === undefined ? 'done' : `${next} 0`, ...part }
    },
    dropJobs: async (jobs) => {
      for (const [queue, some] of Map.groupBy(jobs, (job) => job.queue))
        await inBatches(
          some.map(({ id }) => [id]),
          async (batch) => [await run('erase', main, 'jobs', queue, ...batch.flat())],
        )
    },
    ...noteErasing(server),
    ...topicErasing(server),
    overwrite: async () => ({ isRewritten: true }),
  }
}

function noteErasing({
  call,
  run,
  roots: { main },
}: Server): Pick<Erasing, 'notes' | 'dropNotes' | 'changeNotes'> {
  return {
    notes: async (after) => {
      const end = Number((await call<string | null>('HGET', `${main}meta`, 'end')) ?? 0)
      const first = Number((await call<string | null>('HGET', `${main}meta`, 'notes')) ?? 0)
      const from = after === undefined ? first : Number(after)
      const buckets = Array.from({ length: LISTS }, (_, at) => from + at).filter((at) => at <= end / PER_LIST)
      const lists = buckets.map((bucket) => call<string[]>('LRANGE', `${main}notes:${bucket}`, 0, -1))
      const items = (await Promise.all(lists)).flatMap((lines, at) =>
        lines.map((line): StoredNote => {
          const { road, what, detail = null, at: time } = decodeNote(splitLine(line).content)
          return { place: `${buckets[at]} ${line}`, content: { at: time, road, what, detail } }
        }),
      )
      const next = from + LISTS
      return { items, ...(next <= end / PER_LIST && { next: String(next) }) }
    },
    dropNotes: async (notes) => {
      for (const { place } of notes) {
        const { bucket, line } = partsOf(place)
        await call('LREM', `${main}notes:${bucket}`, 0, line)
      }
    },
    changeNotes: async (changes) => {
      for (const { note, detail } of changes) {
        const { bucket, line } = partsOf(note.place)
        const { position, content } = splitLine(line)
        const changed = encodeNotes([{ ...decodeNote(content), detail }])
        await run('erase', main, 'note', bucket, line, `${position} ${changed}`)
      }
    },
  }
}

/** The parts of the `place` of a note. */
function partsOf(place: string): { bucket: string; line: string } {
  const space = place.indexOf(' ')
  return { bucket: place.slice(0, space), line: place.slice(space + 1) }
}

/** A line of a list of notes: the position of the message, and the note. */
function splitLine(line: string): { position: string; content: string } {
  const space = line.indexOf(' ')
  return { position: line.slice(0, space), content: line.slice(space + 1) }
}

function topicErasing(server: Server): Pick<Erasing, 'topics' | 'dropEvents' | 'dropTopic'> {
  const { run, call, scan, roots } = server
  const { main } = roots
  const topics = `${main}topics`
  return {
    topics: async () =>
      (await call<string[]>('SMEMBERS', topics)).filter((name) => roots.topic(name) !== main),
    dropEvents: async (topic, ids) => {
      const positions = ids.flatMap((id) => positionOf(id) ?? []).map((at) => [at])
      await inBatches(positions, async (some) => [
        await run('erase', roots.topic(topic), 'events', ...some.flat()),
      ])
    },
    dropTopic: async (topic) => {
      const root = roots.topic(topic)
      for await (const keys of scan(root, '')) for (const key of keys) await call('DEL', key)
      // Events that are published meanwhile keep the topic in the lists.
      await removeFromSet(server, 'topics', topic)
      await removeFromSet(server, 'grouped-topics', topic)
    },
  }
}
