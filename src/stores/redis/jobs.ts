import { randomUUID } from 'node:crypto'
import { TriviumError } from '../../core/errors.ts'
import { positionOf } from '../../core/message-id.ts'
import type { Jobs, NewJob, Settled } from '../../core/store.ts'
import { inBatches } from './batches.ts'
import { encodeNotes } from './codec.ts'
import { createDeadLetters } from './dead-letters.ts'
import { digest, type Roots } from './keys.ts'
import { listOf, numberOf, textOf } from './reply.ts'
import type { Run } from './scripts.ts'
import { claimedJob, stateOf } from './stored-job.ts'

/** How many jobs one call claims at most; a message comes with each. */
const MAX_CLAIM = 256

export function createJobs(run: Run, { main }: Roots, now: () => number): Jobs {
  // Claims whose answer never came, by queue: the next claim gives those jobs back, so that they need not
  // wait for the lease to run out and do not count as lost.
  const unheard = new Map<string, Set<string>>()

  async function claim(queue: string, max: number, lease: number, limits: string): Promise<unknown[]> {
    const prefix = randomUUID()
    const before = [...(unheard.get(queue) ?? [])]
    try {
      const reply = await run('jobs-claim', main, queue, max, lease, prefix, limits, ...before)
      for (const each of before) unheard.get(queue)?.delete(each)
      return listOf(reply)
    } catch (error) {
      if (error instanceof TriviumError && error.retryable) {
        unheard.set(queue, new Set([...before, prefix].slice(-100)))
      }
      throw error
    }
  }

  return {
    add: async (queue, jobs) => {
      const prepared = jobs.map((job) => {
        const args = jobArgs(job, now(), digest(job.id))
        return { args, size: sizeOf(args) }
      })
      const answers = await inBatches(prepared, async (batch) =>
        listOf(await run('jobs-add', main, queue, ...batch.flatMap(({ args }) => args))),
      )
      return answers.map((answer) => ({ added: numberOf(answer) === 1 }))
    },

    claim: async (queue, { max, lease, limits = {} }) => {
      const most = Math.min(max, MAX_CLAIM)
      const [wait, ...claimed] = await claim(queue, most, lease, JSON.stringify(limits))
      const jobs = claimed.map(claimedJob)
      const due = numberOf(wait)
      return due < 0 ? { jobs } : { jobs, nextDue: now() + due }
    },

    settle: async (queue, outcomes) => {
      const prepared = outcomes.map((outcome) => {
        const args = outcomeArgs(outcome)
        return { args, size: sizeOf(args) }
      })
      const answers = await inBatches(prepared, async (batch) =>
        listOf(await run('jobs-settle', main, queue, ...batch.flatMap(({ args }) => args))),
      )
      return answers.map((answer) => numberOf(answer) === 1)
    },

    renew: async (queue, claims, lease) => {
      const args = claims.flatMap(({ id, token }) => [id, token])
      return listOf(await run('jobs-renew', main, queue, lease, ...args)).map(
        (answer) => numberOf(answer) === 1,
      )
    },

    state: async (queue, id) => stateOf(await run('jobs-state', main, queue, id)),

    list: async (queue, limit) =>
      listOf(await run('jobs-list', main, queue, limit)).map((job) => {
        const [id, lane, group, failures, wait, running] = listOf(job)
        return {
          id: textOf(id),
          lane: textOf(lane),
          group: textOf(group),
          running: numberOf(running) === 1,
          failures: numberOf(failures),
          due: now() + numberOf(wait),
        }
      }),

    deadLetters: createDeadLetters(run, main),
  }
}

/** A job as `add_job` of `lua/lib/lanes.lua` takes it. */
export function jobArgs(job: NewJob, now: number, seen: string): (string | number)[] {
  const position = job.messageId === undefined ? undefined : positionOf(job.messageId)
  return [
    job.id,
    job.lane,
    job.group,
    job.messageId ?? '',
    position ?? '',
    job.data === undefined ? '' : JSON.stringify(job.data),
    job.notBefore === undefined ? '' : job.notBefore - now,
    job.notify ? '1' : '',
    seen,
  ]
}

function outcomeArgs(settled: Settled): (string | number)[] {
  const { id, token, outcome } = settled
  const notes = encodeNotes(settled.notes ?? [])
  const result = outcome === 'done' && settled.result !== undefined ? JSON.stringify(settled.result) : ''
  const delay = outcome === 'retry' || outcome === 'release' ? (settled.delay ?? 0) : 0
  const error = outcome === 'retry' || outcome === 'dead' ? JSON.stringify(settled.error) : ''
  const reason = outcome === 'dead' ? settled.reason : ''
  return [id, token, outcome, delay, error, reason, result, notes]
}

function sizeOf(args: readonly (string | number)[]): number {
  return args.reduce<number>((sum, arg) => sum + (typeof arg === 'string' ? arg.length : 8), 0)
}
