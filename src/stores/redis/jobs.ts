import { RESULT_TTL } from '../../core/lifetimes.ts'
import type {
  AttemptError,
  ClaimedJob,
  DeadLetter,
  Jobs,
  NewJob,
  Settled,
  UnfinishedJob,
} from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import type { FreshMessages } from '../shared/fresh-messages.ts'
import { createPumpedJobs, type PumpedJobs } from '../shared/pumped-jobs.ts'
import { lastOf, storable } from '../shared/values.ts'
import { inBatches } from './batches.ts'
import { type Entry, encodeNotes, messageOf, storedMessage } from './codec.ts'
import { createHandOver } from './hand-over.ts'
import type { Places } from './layout.ts'
import { digest } from './roots.ts'
import type { Args, Server } from './scripts.ts'

/**
 * Empty arguments of `jobs-add` for the cursor of the pump and its new message: the jobs are not
 * from the pump.
 */
const NO_CURSOR = ['', '', '', ''] as const

/** The job queues of one shard. */
export function createJobs({ run, call, now, places, roots: { main } }: Server, fresh: FreshMessages): Jobs {
  const handOver = createHandOver()

  /** Runs a script that returns 1 or 0 per item. */
  const each = (script: string, before: Args, items: readonly Args[]) =>
    inBatches(items, async (batch) =>
      (await run<number[]>(script, main, ...before, ...batch.flat())).map((answer) => answer === 1),
    )

  return {
    add: async (queue, jobs) => {
      const items = jobs.map((job) => jobArgs(job, digest(job.id), places))
      return (await each('jobs-add', [queue, ...NO_CURSOR], items)).map((added) => ({ added }))
    },
    claim: async (queue, { max, lease, limits = {}, busy = {} }) => {
      // Only dispatch is filled by the pump. The oldest jobs are claimed first, so that the newest
      // need not be listed.
      const known = queue === 'dispatch' ? fresh.pumped() : createPumpedJobs()
      const size = known.size()
      const args = [queue, max, storable(lease), JSON.stringify(limits)]
      const names = known.ids(4 * max).join(' ')
      type Reply = [wait: number, isLeft: number, claimed: Claimed[]]
      const [wait, isLeft, claimed] = await handOver(queue, (handing) =>
        run<Reply>('jobs-claim', main, ...args, ...handing, names, JSON.stringify(busy)),
      )
      const items = claimed.map((each) => claimedJob(each, known, places))
      // None of the claimed jobs was in memory: limited routes lag far behind the pump, and will
      // not claim the jobs in memory soon.
      if (items.length > 0 && known.size() === size) known.clear()
      return { items, more: isLeft === 1, ...(wait >= 0 && { nextDue: now() + wait }) }
    },
    mergeFollowing: async (queue, { id, token, group }) =>
      (await run<Merged[] | null>('jobs-follow', main, queue, id, token, group))?.map((each) =>
        mergedMessage(each, places),
      ),
    settle: (queue, outcomes) => each('jobs-settle', [queue], outcomes.map(outcomeArgs)),
    renew: (queue, claims, lease) => {
      const noNotes = ''
      const noError = ''
      const noReason = ''
      const items = claims.map(({ id, token }) => {
        return [id, token, 'renew', noNotes, storable(lease), noError, noReason]
      })
      return each('jobs-settle', [queue], items)
    },
    ...createHolds(run, main),
    bury: async (queue, id, { error, reason, notes = [] }) =>
      (await run('jobs-bury', main, queue, id, toJson(error), reason, encodeNotes(notes))) === 1,
    ...createStates(call, now, main),
    deadLetters: {
      list: async ({ queue = '', group = '', before, limit }) => {
        const [at, id] = before ? [before.at, before.id] : ['', '']
        type Reply = [isLeft: number, letters: Letter[]]
        const [isLeft, letters] = await run<Reply>('dead', main, 'list', queue, group, limit, at, id)
        return { items: letters.map((each) => deadLetter(each, places)), more: isLeft === 1 }
      },
      ids: () => run<string[]>('dead', main, 'ids'),
      get: async (id, queue = '') => {
        const letter = await run<Letter | null>('dead', main, 'get', id, queue)
        return letter ? deadLetter(letter, places) : undefined
      },
      retry: async (id, queue = '', by = '') => (await run('dead', main, 'retry', id, queue, by)) === 1,
      undoRetry: async (id, queue, { by, notes = [] }) =>
        (await run('jobs-undo', main, queue, id, by, encodeNotes(notes))) === 1,
      drop: async (id, queue = '') => (await run('dead', main, 'drop', id, queue)) === 1,
    },
  }
}

/** How far jobs are, and how they ended. */
function createStates(
  call: Server['call'],
  now: () => number,
  main: Server['roots']['main'],
): Pick<Jobs, 'unfinished' | 'end'> {
  return {
    unfinished: async (queue, id) => {
      const base = `${main}jobs:${queue}:`
      const [fields, due] = await Promise.all([
        call<(string | null)[]>('HMGET', `${base}job:${id}`, 'l', 'g', 'k', 'f', 'e'),
        call<string | null>('ZSCORE', `${base}delayed`, id),
      ])
      return unfinishedJob(fields, due)
    },
    end: async (queue, id) => {
      const base = `${main}jobs:${queue}:`
      const [[errors, diedAt], done] = await Promise.all([
        call<[errors: string | null, at: string | null]>('HMGET', `${base}dead:${id}`, 'e', 'z'),
        call<string | null>('GET', `${base}done:${id}`),
      ])
      if (errors !== null) return { state: 'dead', at: Number(diedAt), error: lastOf(JSON.parse(errors)) }
      const [, at, result] = /^(\d+) (.*)$/s.exec(done ?? '') ?? []
      const isKept = now() - Number(at) < RESULT_TTL
      return isKept
        ? { state: 'done', at: Number(at), ...(result && { result: JSON.parse(result) }) }
        : undefined
    },
  }
}

/** `due`: when the next attempt begins, if it is later. */
function unfinishedJob(
  [lane, group, token, failures, errors]: readonly (string | null)[],
  due: string | null,
): UnfinishedJob | undefined {
  if (typeof lane !== 'string') return undefined
  const error: AttemptError | undefined = JSON.parse(errors ?? '[]').at(-1)
  const known = { group: group ?? '', ...defined({ error }) }
  if (token) return { ...known, state: 'running' }
  if (!(Number(failures) > 0)) return { ...known, state: 'waiting' }
  return { ...known, state: 'retrying', ...defined({ nextAt: due === null ? undefined : Number(due) }) }
}

/** Heads of lanes that are not claimable yet. */
function createHolds(
  run: Server['run'],
  main: Server['roots']['main'],
): Pick<Jobs, 'held' | 'unhold' | 'hasten' | 'nextDue'> {
  return {
    held: async (queue, after, limit) => {
      type Reply = [isLeft: number, found: [id: string, lane: string, group: string][]]
      const [isLeft, found] = await run<Reply>('jobs-held', main, queue, 'list', after, limit)
      return { items: found.map(([id, lane, group]) => ({ id, lane, group })), more: isLeft === 1 }
    },
    unhold: async (queue, ids) =>
      ids.length === 0 ? 0 : await run<number>('jobs-held', main, queue, 'unhold', ...ids),
    hasten: async (queue, ids) => {
      if (ids) return ids.length === 0 ? 0 : run<number>('jobs-held', main, queue, 'hasten', ...ids)
      let count = 0
      let more = true
      while (more) {
        const batch = await run<number>('jobs-held', main, queue, 'hasten')
        count += batch
        more = batch > 0
      }
      return count
    },
    nextDue: async (queue) => {
      const due = await run<number>('jobs-held', main, queue, 'due')
      return due < 0 ? undefined : due
    },
  }
}

/** Arguments of a job for `add_job` of `lua/lib/lanes.lua`. */
function jobArgs(job: NewJob, seen: string, places: Places): Args {
  return [...briefArgs(job, places), job.messageId ?? '', toJson(job.data), seen]
}

/** Short form for a job of the pump, which has the id of its message and no data. */
export function briefArgs({ id, lane, group, messageId = '', notify }: NewJob, places: Places): Args {
  return [id, lane, group, places.placeOf(messageId) ?? '', notify ? '1' : '']
}

type Failure = { delay?: number; error?: AttemptError; reason?: string }

function outcomeArgs(settled: Settled): Args {
  const { id, token, outcome, notes = [] } = settled
  const encoded = encodeNotes(notes)
  if (settled.outcome === 'done') return [id, token, outcome, encoded, toJson(settled.result)]
  const { delay = 0, error, reason = '' }: Failure = settled.outcome === 'hold' ? {} : settled
  return [id, token, outcome, encoded, storable(delay), toJson(error), reason]
}

const toJson = (value: unknown) => (value === undefined ? '' : JSON.stringify(value))

/**
 * A job returned by `jobs-claim`. The fields are a flat list, absent if unchanged since the pump
 * added the job.
 */
type Claimed = [id: string, token: string, fields?: string[], entry?: Entry | null]

/** The message of the job comes from `known` if the script omitted it. */
function claimedJob([id, token, flat, entry]: Claimed, known: PumpedJobs, places: Places): ClaimedJob {
  const pumped = known.take(id)
  if (pumped && !flat)
    return { ...pumped.job, token, failures: 0, lost: 0, errors: [], message: pumped.message }
  const fields = fieldsOf(flat ?? [])
  const messageId = fields.get('m')
  const message =
    pumped?.message ?? storedMessage(fields, places) ?? (entry ? messageOf(entry, places) : undefined)
  return {
    ...storedJob(id, fields, places),
    token,
    failures: Number(fields.get('f') ?? 0),
    lost: Number(fields.get('x') ?? 0),
    ...(messageId === undefined ? {} : { messageId }),
    ...(fields.has('n') ? { notify: true } : {}),
    ...(fields.has('p') ? { requeued: true } : {}),
    ...(message && message.id === messageId ? { message } : {}),
  }
}

/** A dead letter returned by `dead`. */
type Letter = [queue: string, id: string, reason: DeadLetter['reason'], fields: string[]]

function deadLetter([queue, id, reason, flat]: Letter, places: Places): DeadLetter {
  const fields = fieldsOf(flat)
  const letter = { queue, at: Number(fields.get('z')), reason }
  return {
    ...storedJob(id, fields, places),
    ...letter,
    ...defined({ message: storedMessage(fields, places) }),
    ...firstRun(fields),
  }
}

/** The first run of a letter that was retried. Older versions of Trivium did not keep it. */
function firstRun(fields: Map<string, string>): Pick<DeadLetter, 'firstAt' | 'firstErrors' | 'retriedAt'> {
  const run = fields.get('o')
  if (run === undefined) return {}
  const [firstAt, firstErrors]: [number, AttemptError[]] = JSON.parse(run)
  return { firstAt, firstErrors, retriedAt: Number(fields.get('q')) }
}

/** The common part of a claimed job and a dead letter. */
function storedJob(id: string, fields: Map<string, string>, places: Places) {
  const [lane = '', group = '', data] = ['l', 'g', 'd'].map((name) => fields.get(name))
  const errors: AttemptError[] = JSON.parse(fields.get('e') ?? '[]')
  const merged: Merged[] = JSON.parse(fields.get('w') ?? '[]')
  const collected = merged.map((each) => mergedMessage(each, places))
  const job = { id, lane, group, errors, ...(merged.length > 0 && { collected }) }
  return data === undefined ? job : { ...job, data: JSON.parse(data) }
}

/** See `lua/lib/merge.lua`. */
type Merged = [position: string, head: string, payload: string]

const mergedMessage = ([position, head, payload]: Merged, places: Places) =>
  messageOf([position, ['h', head, 'p', payload]], places)

function fieldsOf(flat: readonly string[]): Map<string, string> {
  const fields = new Map<string, string>()
  for (let i = 0; i < flat.length; i += 2) fields.set(flat[i] ?? '', flat[i + 1] ?? '')
  return fields
}
