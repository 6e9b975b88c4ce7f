import type { ServerResponse } from 'node:http'
import { isJsonObject, type Json } from '../../src/core/json.ts'
import type { Accepted, NewMessage } from '../../src/core/message.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { attempt } from '../../src/lib/attempt.ts'
import { answerQuickly } from '../../src/lib/quick-answer.ts'
import type { Answer, Preset, Taken } from '../deliveries/preset.ts'
import { awaitReply } from '../kept-reply.ts'
import type { WebhookOptions } from './config.ts'
import { readHttpAnswer, writeHttpAnswer } from './http-answer.ts'

export type Answers = ReturnType<typeof createAnswers>

/** The responses to accepted deliveries: the acknowledgement, or the reply of the skill with `respond: result`. */
export function createAnswers(options: WebhookOptions, deps: TransportDeps, preset: Preset | undefined) {
  const closing = new AbortController()

  function acknowledge(response: ServerResponse, taken: Taken, body: Json | undefined) {
    const isNew = taken.id !== undefined && !taken.duplicate && taken.reply === undefined
    const status = isNew ? 202 : 200
    answer(response, preset?.answer?.(taken, body) ?? { status, text: JSON.stringify(taken) })
  }

  /** Never rejects, as the message is already durable. */
  async function answerLater(
    response: ServerResponse,
    taken: { id: string; duplicate?: boolean },
    { data }: NewMessage,
    body?: Json,
  ) {
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    const signal = AbortSignal.any([gone.signal, closing.signal])
    const reply = await awaitReply(deps, taken, data.replyTarget, options.timeout, signal)
    const http = isJsonObject(reply?.data) ? reply.data.http : undefined
    // Validated when it was sent.
    const decided = http === undefined ? undefined : attempt(() => readHttpAnswer(deps.gateway, http))
    if (decided) writeHttpAnswer(response, decided)
    else acknowledge(response, { ...taken, ...(reply && { reply: String(reply.text) }) }, body)
  }

  return {
    /** Answers a delivery of one message. */
    one(response: ServerResponse, { id, duplicate }: Accepted, message: NewMessage, body?: Json): void {
      const taken = duplicate ? { id, duplicate } : { id }
      if (options.respond === 'result') void answerLater(response, taken, message, body)
      else acknowledge(response, taken, body)
    },
    /** Answers a delivery of several messages, or of none. */
    all(response: ServerResponse, accepted: readonly Accepted[], body?: Json): void {
      acknowledge(response, takenOf(accepted), body)
    },
    /** Requests that wait for a reply get 202, as their messages are durable. */
    close: () => closing.abort(),
  }
}

/** The ids of a delivery's messages, and the number of duplicates. */
function takenOf(accepted: readonly Accepted[]): Taken {
  const ids = accepted.map(({ id }) => id)
  const duplicates = accepted.filter(({ duplicate }) => duplicate).length
  const [id] = ids
  if (id === undefined) return { ids }
  return {
    id,
    ids,
    ...(duplicates > 0 ? { duplicates } : {}),
    ...(duplicates === ids.length ? { duplicate: true } : {}),
  }
}

export function answer(
  response: ServerResponse,
  { status, type = 'application/json', text = '' }: Answer,
): void {
  answerQuickly(response, status, type, text)
}
