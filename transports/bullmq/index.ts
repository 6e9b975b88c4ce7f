import type { Job } from 'bullmq'
import { z } from 'zod'
import { TriviumError, toTriviumError } from '../../src/core/errors.ts'
import { isJsonObject, type Json, jsonObjectSchema, parseJson } from '../../src/core/json.ts'
import type { NewMessage } from '../../src/core/message.ts'
import { loadPart } from '../../src/core/parts.ts'
import { queueName } from '../../src/core/queue-name.ts'
import type { TransportDeps, TransportKind } from '../../src/core/transport.ts'
import { formatDuration, timerDuration } from '../../src/core/units.ts'
import { defined } from '../../src/lib/defined.ts'
import { mayHaveLostNumber } from '../../src/lib/exact-json.ts'
import { inTime } from '../../src/lib/pause.ts'
import { bounded } from '../bounded-id.ts'
import { awaitReply, refuseTarget, sendToRequest } from '../reply-to-request.ts'
import type { QueueHost, QueueServer } from './host.ts'

const bullmqOptions = z.strictObject({
  queue: queueName.describe('The queue that other programs add jobs to.'),
  redis: z.string().min(1).exactOptional().describe('Redis URL; by default that of `queues:`.'),
  prefix: z.string().min(1).exactOptional().describe('Key prefix of BullMQ.'),
  concurrency: z.int().min(1).max(1_000).default(16).describe('Concurrent jobs per process.'),
  respond: z
    .enum(['accepted', 'result'])
    .default('accepted')
    .describe('accepted: the job is done once its message is durable. result: its value is the reply.'),
  timeout: timerDuration.default(60_000).describe('How long `respond: result` waits for the reply.'),
})

type BullmqOptions = z.output<typeof bullmqOptions>

const name = z.string().min(1).max(255)

/** Reserved names in `data`. */
const RESERVED = ['format', 'body', 'respond', 'replyTarget']

/**
 * A job added by a program. The fields in `data`, and all other fields, become `data` of the
 * message.
 */
const jobData = z
  .object({
    text: z.string().default(''),
    sender: name.optional(),
    conversation: name.optional(),
    subject: z.string().optional(),
    data: jsonObjectSchema.default({}),
  })
  .catchall(z.json())
  .refine(
    ({ data, ...more }) => !RESERVED.some((key) => key in data || key in more),
    `the names ${RESERVED.join(', ')} are reserved; choose others`,
  )

/** Pause before a job with a temporary error is tried again. */
const RETRY_DELAY_MS = 1_000
/** Time that the worker has to close its connections. */
const CLOSE_TIMEOUT_MS = 1_000
/** After this time without a renewal, another daemon takes over the job. */
const LOCK_MS = 10_000

/**
 * The bullmq transport: jobs that programs add to a queue become messages, and complete once these
 * are durable.
 */
export const bullmq: TransportKind<BullmqOptions, QueueHost> = {
  kind: 'bullmq',
  part: 'queues',
  options: bullmqOptions,
  async create(options, deps) {
    let server: QueueServer | undefined
    let stop = async () => {}
    return {
      async start() {
        server = await deps.queueServer(options.redis)
        stop = await startWorker(server, options, deps)
      },
      requireTarget: async () => refuseTarget(deps.gateway),
      send: (reply) => sendToRequest(deps, reply),
      stop: () => stop(),
      async close() {},
      health() {
        const detail = server ? server.trouble() : 'not started'
        return { ok: detail === undefined, ...defined({ detail }) }
      },
      async check() {
        const trouble = server?.trouble()
        return server ? [{ name: 'queue', ok: !trouble, detail: trouble ?? options.queue }] : []
      },
    }
  },
  // The fields of the job must not replace the sender and the text.
  eventData: ({ from, text, data }) => ({ ...data, from: from.id, text }),
  unanswerable({ data }) {
    if (data.respond === 'result') return undefined
    return 'its job has already ended; set `respond: result` on the gateway'
  },
}

/**
 * Starts a worker that turns jobs into messages. After a retryable error, a job returns to the
 * queue without counting an attempt; other errors fail it permanently. Returns a function that
 * stops the worker and releases unfinished jobs.
 */
async function startWorker(server: QueueServer, options: BullmqOptions, deps: TransportDeps) {
  const { DelayedError, UnrecoverableError, Worker } = await loadPart('queues', () => import('bullmq'))
  const { queue, prefix = server.options.prefix, concurrency, respond, timeout } = options
  const { gateway } = deps
  const stopping = new AbortController()
  const { signal } = stopping

  const processJob = async (job: Job, token?: string) => {
    try {
      return await acceptJob(job)
    } catch (error) {
      const { retryable, message } = toTriviumError(error)
      if (!retryable) throw new UnrecoverableError(message)
      await job.moveToDelayed(Date.now() + (signal.aborted ? 0 : RETRY_DELAY_MS), token)
      throw new DelayedError(message)
    }
  }

  /** Resolves with the job's result. Throws `bad_request` for an invalid message. */
  const acceptJob = async (job: Job): Promise<Json> => {
    const { id, duplicate } = await deps.accept(messageOf(job, await dataOf(job)))
    if (respond === 'accepted') return { id, ...(duplicate ? { duplicate } : {}) }
    const reply = await awaitReply(deps, { id }, undefined, timeout, signal)
    if (reply !== undefined) return String(reply.text)
    if (signal.aborted) {
      throw new TriviumError('cancelled', { what: 'The wait for a reply', reason: 'the daemon is stopping' })
    }
    const outcome = await deps.settled(id, 0)
    if (outcome === 'done') return null
    const isDeadLetter = outcome === 'failed'
    const why = isDeadLetter ? 'its message became a dead letter' : `not within ${formatDuration(timeout)}`
    throw new TriviumError('no_reply', { id, why })
  }

  /** The data of a job; if BullMQ's parser may have rounded a number, read again from Redis. */
  const dataOf = async ({ id, data }: Job): Promise<unknown> => {
    if (!mayHaveLostNumber(data)) return data
    const raw = await server.options.connection.hget(`${prefix}:${queue}:${id}`, 'data')
    return raw === null ? data : (parseJson(raw) ?? data)
  }

  const messageOf = ({ id = '', name: event, timestamp }: Job, content: unknown): NewMessage => {
    // Only BullMQ's own ids are numbers. They restart in an emptied queue.
    const key = bounded(/^\d+$/.test(id) ? `${id}@${timestamp}` : id)
    const { data: parsed, error } = jobData.safeParse(content)
    if (!parsed) {
      const hint = isJsonObject(content) ? z.prettifyError(error) : 'it is not a JSON object'
      const reason = `job ${key} of queue ${queue} is not a message such as {"text":"hi","sender":"shop"}: ${hint}`
      deps.refused('bad_request', { from: queue, why: reason, body: JSON.stringify(content) })
      throw new TriviumError('bad_request', { reason })
    }
    const { text, sender = queue, conversation, subject, data, ...more } = parsed
    return {
      gateway,
      transport: 'bullmq',
      key,
      from: { id: sender },
      text,
      ...defined({ subject, conversation: conversation && `${gateway}:${conversation}` }),
      data: { ...more, ...data, event, ...(respond === 'result' ? { respond } : {}) },
    }
  }

  const worker = new Worker(queue, processJob, {
    ...server.options,
    prefix,
    concurrency,
    lockDuration: LOCK_MS,
    stalledInterval: LOCK_MS / 2,
    // Jobs of a dead daemon may be taken any number of times, as repetitions are deduplicated.
    maxStalledCount: Number.MAX_SAFE_INTEGER,
  })
  worker.on('error', server.failed)
  return async () => {
    await worker.pause(true)
    stopping.abort()
    await inTime(worker.close(), AbortSignal.timeout(CLOSE_TIMEOUT_MS))
  }
}
