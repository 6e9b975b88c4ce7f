import { z } from 'zod'
import { TriviumError } from '../../src/core/errors.ts'
import type { Json } from '../../src/core/json.ts'
import { queueName } from '../../src/core/route.ts'
import type { JobTaker, TakenJob, TransportDeps, TransportKind } from '../../src/core/transport.ts'
import { formatDuration, timerDuration } from '../../src/core/units.ts'
import { defined } from '../../src/lib/defined.ts'
import { awaitReply, sendToRequest } from '../kept-reply.ts'
import { normalize } from './normalize.ts'

const bullmqOptions = z.strictObject({
  queue: queueName.describe('The queue that other programs add jobs to.'),
  redis: z.string().min(1).exactOptional().describe('Where it is; by default as `queues:` says.'),
  prefix: z.string().min(1).exactOptional().describe('What BullMQ begins its keys with.'),
  concurrency: z.int().min(1).max(1_000).default(16).describe('Jobs at once in one process.'),
  respond: z
    .enum(['accepted', 'result'])
    .default('accepted')
    .describe('accepted: the job is done once its message is durable. result: its value is the reply.'),
  timeout: timerDuration.default(60_000).describe('How long `respond: result` waits for the reply.'),
})

type BullmqOptions = z.output<typeof bullmqOptions>

/** The bullmq transport: jobs that other programs add to a queue are messages, done once they are durable. */
export const bullmq: TransportKind<BullmqOptions> = {
  kind: 'bullmq',
  options: bullmqOptions,
  async create(options, deps) {
    let taker: JobTaker | undefined
    return {
      async start() {
        taker = await deps.jobs(options, (job) => take(job, options, deps))
      },
      send: (reply) => sendToRequest(deps, reply),
      stop: async () => taker?.stop(),
      async close() {},
      health() {
        const detail = taker ? taker.trouble() : 'not started'
        return { ok: detail === undefined, ...defined({ detail }) }
      },
      check: async () => {
        const trouble = taker?.trouble()
        return taker ? [{ name: 'queue', ok: !trouble, detail: trouble ?? options.queue }] : []
      },
    }
  },
  eventData: ({ from, text, data }) => ({ from: from.id, text, ...data }),
  unanswerable({ data }) {
    if (data.respond === 'result') return undefined
    return 'its job was done at once; set `respond: result` on the gateway'
  },
}

/** Resolves with the value of the job. Throws `bad_request` for what is no message, and what `accept` throws. */
async function take(job: TakenJob, options: BullmqOptions, deps: TransportDeps): Promise<Json> {
  const { respond, timeout } = options
  const message = normalize(job, { gateway: deps.gateway, queue: options.queue, respond }, deps.refused)
  const { id, duplicate } = await deps.accept(message)
  if (respond === 'accepted') return { id, ...(duplicate ? { duplicate } : {}) }
  const reply = await awaitReply(deps, id, undefined, timeout, job.signal)
  if (reply !== undefined) return reply
  if (job.signal.aborted) {
    throw new TriviumError('cancelled', { what: 'The wait for a reply', reason: 'the daemon is stopping' })
  }
  const outcome = await deps.settled(id, 0)
  if (outcome === 'done') return null
  const why =
    outcome === 'failed' ? 'its message became a dead letter' : `not within ${formatDuration(timeout)}`
  throw new TriviumError('no_reply', { id, why })
}
