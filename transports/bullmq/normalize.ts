import { z } from 'zod'
import { TriviumError } from '../../src/core/errors.ts'
import { isJsonObject, jsonObjectSchema } from '../../src/core/json.ts'
import type { NewMessage } from '../../src/core/message.ts'
import type { TakenJob, TransportDeps } from '../../src/core/transport.ts'
import { defined } from '../../src/lib/defined.ts'

const name = z.string().min(1).max(255)

/** Names of fields in `data` that mean something to the roads. */
const RESERVED = ['format', 'body', 'respond', 'replyTarget']

/** What a program adds. All other fields become `data` of the message, beside those of its own `data`. */
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

/** Makes the message of a job; its `event` is the name of the job. Throws `bad_request` where its data is none. */
export function normalize(
  job: TakenJob,
  { gateway, queue, respond }: { gateway: string; queue: string; respond: string },
  refused: TransportDeps['refused'],
): NewMessage {
  const { data: said, error } = jobData.safeParse(job.data)
  if (!said) {
    const hint = isJsonObject(job.data) ? z.prettifyError(error) : 'it is no JSON object'
    const reason = `job ${job.id} of queue ${queue} is no message such as {"text":"hi","sender":"shop"}: ${hint}`
    refused('bad_request', { from: queue, why: reason, body: JSON.stringify(job.data) })
    throw new TriviumError('bad_request', { reason })
  }
  const { text, sender = queue, conversation, subject, data, ...more } = said
  return {
    gateway,
    transport: 'bullmq',
    key: job.id,
    from: { id: sender },
    text,
    ...defined({ subject, conversation: conversation && `${gateway}:${conversation}` }),
    data: { ...more, ...data, event: job.name, ...(respond === 'result' ? { respond } : {}) },
  }
}
