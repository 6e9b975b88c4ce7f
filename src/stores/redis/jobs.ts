import { positionOf } from '../../core/message-id.ts'
import type { DeadLetters, Jobs, NewJob, Settled } from '../../core/store.ts'
import type { FreshMessages } from '../shared/fresh-messages.ts'
import { encodeNotes } from './codec.ts'
import { createHandOver } from './hand-over.ts'
import { digest } from './keys.ts'
import { isNothing, listOf, numberOf, textOf } from './reply.ts'
import { type Args, inBatches, type Server } from './scripts.ts'
import { claimedJob, deadLetter, endOf } from './stored-job.ts'

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
      const known = fresh.pumped()
      const args = [queue, max, lease, JSON.stringify(limits)]
      const reply = await handOver(queue, (handing) =>
        run('jobs-claim', main, ...args, ...handing, [...known.keys()].join(' ')),
      )
      const [wait, ...claimed] = listOf(reply)
      const jobs = claimed.map((each) => claimedJob(each, known))
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
