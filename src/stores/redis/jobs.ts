import type { Message } from '../../core/message.ts'
import { positionOf } from '../../core/message-id.ts'
import type {
  AttemptError,
  ClaimedJob,
  DeadLetter,
  DeadLetters,
  JobEnd,
  Jobs,
  NewJob,
  Settled,
} from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import type { FreshMessages } from '../shared/fresh-messages.ts'
import { lastOf, toReason, WEEK } from '../shared/values.ts'
import { encodeNotes, entryOf, messageOf, storedMessage } from './codec.ts'
import { digest } from './keys.ts'
import { fieldsOf, isNothing, listOf, numberOf, textOf } from './reply.ts'
import { type Args, createHandOver, inBatches, type Server } from './scripts.ts'

export function createJobs(server: Server, fresh: FreshMessages): Jobs {
  const { run, call, now } = server
  const { main } = server.roots
  const handOver = createHandOver()

  /** Runs a script that answers 1 or 0 for each of its items. */
  const each = (script: string, before: Args, items: readonly Args[]) =>
    inBatches(items, async (batch) =>
      listOf(await run(script, main, ...before, ...batch.flat())).map((answer) => numberOf(answer) === 1),
    )

  return {
    add: async (queue, jobs) => {
      const items = jobs.map((job) => jobArgs(job, digest(job.id)))
      return (await each('jobs-add', [queue, '', '', '', ''], items)).map((added) => ({ added }))
    },
    claim: async (queue, { max, lease, limits = {} }) => {
      // The pump adds to this one alone. The oldest are claimed first, and to name many takes Redis longer than to read a few.
      const known = queue === 'dispatch' ? fresh.pumped() : new Map<string, Message>()
      const { size } = known
      const args = [queue, max, lease, JSON.stringify(limits)]
      const reply = await handOver(queue, (handing) =>
        run('jobs-claim', main, ...args, ...handing, [...known.keys().take(4 * max)].join(' ')),
      )
      const [wait, ...claimed] = listOf(reply)
      const jobs = claimed.map((each) => claimedJob(each, known))
      // The pump is far ahead of routes that have limits: what it pumped last is not claimed soon.
      if (jobs.length > 0 && known.size === size) known.clear()
      const due = numberOf(wait)
      return due < 0 ? { jobs } : { jobs, nextDue: now() + due }
    },
    settle: (queue, outcomes) => each('jobs-settle', [queue], outcomes.map(outcomeArgs)),
    renew: (queue, claims, lease) =>
      each(
        'jobs-settle',
        [queue],
        claims.map(({ id, token }) => [id, token, 'renew', lease, '', '', '', '']),
      ),
    end: async (queue, id) => {
      const base = `${main}jobs:${queue}:`
      const [errors, done] = await Promise.all([
        call('HGET', `${base}dead:${id}`, 'e'),
        call('GET', `${base}done:${id}`),
      ])
      return endOf(errors, done, now())
    },
    deadLetters: createDeadLetters(server),
  }
}

function createDeadLetters({ run, roots: { main } }: Server): DeadLetters {
  return {
    list: async ({ queue = '', group = '', limit }) =>
      listOf(await run('dead', main, 'list', queue, group, limit)).map(deadLetter),
    ids: async () => listOf(await run('dead', main, 'ids')).map(textOf),
    get: async (id) => {
      const reply = await run('dead', main, 'get', id)
      return isNothing(reply) ? undefined : deadLetter(reply)
    },
    retry: async (id) => numberOf(await run('dead', main, 'retry', id)) === 1,
    drop: async (id) => numberOf(await run('dead', main, 'drop', id)) === 1,
  }
}

/** A job as `add_job` of `lua/lib/lanes.lua` takes it. */
export function jobArgs(job: NewJob, seen: string): Args {
  const position = job.messageId === undefined ? undefined : positionOf(job.messageId)
  return [
    job.id,
    job.lane,
    job.group,
    job.messageId ?? '',
    position ?? '',
    job.data === undefined ? '' : JSON.stringify(job.data),
    job.notify ? '1' : '',
    seen,
  ]
}

function outcomeArgs(settled: Settled): Args {
  const { id, token, outcome } = settled
  const notes = encodeNotes(settled.notes ?? [])
  const result = outcome === 'done' && settled.result !== undefined ? JSON.stringify(settled.result) : ''
  const delay = outcome === 'retry' || outcome === 'release' ? (settled.delay ?? 0) : 0
  const error = outcome === 'retry' || outcome === 'dead' ? JSON.stringify(settled.error) : ''
  const reason = outcome === 'dead' ? settled.reason : ''
  return [id, token, outcome, delay, error, reason, result, notes]
}

/** What a job that is claimed and a dead letter have in common. */
function storedJob(id: unknown, fields: Map<string, string>) {
  const [lane, group, data] = [textOf(fields.get('l')), textOf(fields.get('g')), fields.get('d')]
  const job = { id: textOf(id), lane, group, errors: errorsOf(fields.get('e')) }
  return data === undefined ? job : { ...job, data: JSON.parse(data) }
}

/** A job as `jobs-claim` returns it. Its message is taken out of `known` where it was told to leave that out. */
function claimedJob(reply: unknown, known: Map<string, Message>): ClaimedJob {
  const [id, token, flat, entry] = listOf(reply)
  const fields = fieldsOf(flat)
  const messageId = fields.get('m')
  const message =
    known.get(textOf(id)) ??
    storedMessage(fields) ??
    (isNothing(entry) ? undefined : messageOf(entryOf(entry)))
  known.delete(textOf(id))
  return {
    ...storedJob(id, fields),
    token: textOf(token),
    failures: numberOf(fields.get('f') ?? 0),
    lost: numberOf(fields.get('x') ?? 0),
    ...(messageId === undefined ? {} : { messageId }),
    ...(fields.has('n') ? { notify: true } : {}),
    ...(message && message.id === messageId ? { message } : {}),
  }
}

/** How a job ended: by the errors of its dead letter, or by its result as `jobs-settle` keeps it. */
function endOf(errors: unknown, done: unknown, now: number): JobEnd | undefined {
  if (!isNothing(errors)) return { state: 'dead', error: lastOf(errorsOf(textOf(errors))) }
  const [, at, result] = /^(\d+) (.*)$/.exec(isNothing(done) ? '' : textOf(done)) ?? []
  if (now - Number(at) < WEEK) return { state: 'done', ...(result && { result: JSON.parse(result) }) }
  return undefined
}

/** A dead letter as `dead` returns it. */
function deadLetter(reply: unknown): DeadLetter {
  const [queue, id, flat] = listOf(reply)
  const fields = fieldsOf(flat)
  const letter = { queue: textOf(queue), at: numberOf(fields.get('z')), reason: toReason(fields.get('y')) }
  return { ...storedJob(id, fields), ...letter, ...defined({ message: storedMessage(fields) }) }
}

function errorsOf(json = '[]'): AttemptError[] {
  return JSON.parse(json)
}
