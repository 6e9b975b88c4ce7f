import type { ServerResponse } from 'node:http'
import { isJsonObject, type Json } from '../../src/core/json.ts'
import type { Accepted, NewMessage } from '../../src/core/message.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { attempt } from '../../src/lib/attempt.ts'
import { answerAscii, answerQuickly } from '../../src/lib/quick-answer.ts'
import type { AcceptedDelivery, Answer, Preset } from '../deliveries/preset.ts'
import { awaitReply } from '../reply-to-request.ts'
import type { WebhookOptions } from './config.ts'
import { readHttpAnswer, writeHttpAnswer } from './http-answer.ts'

export type Answers = ReturnType<typeof createAnswers>

/**
 * The responses to accepted deliveries: the acknowledgement, or the reply of the skill with
 * `respond: result`.
 */
export function createAnswers(options: WebhookOptions, deps: TransportDeps, preset: Preset | undefined) {
  const closing = new AbortController()
  const configured = options.answer && readHttpAnswer(deps.gateway, options.answer)
  const isAwaited = options.respond === 'result'
  const isPlain = !isAwaited && !configured && preset?.answer === undefined

  function acknowledge(response: ServerResponse, delivery: AcceptedDelivery, body: Json | undefined) {
    if (configured && delivery.reply === undefined) return writeHttpAnswer(response, configured)
    const isNew = delivery.id !== undefined && !delivery.duplicate && delivery.reply === undefined
    const status = isNew ? 202 : 200
    answer(response, preset?.answer?.(delivery, body) ?? { status, text: JSON.stringify(delivery) })
  }

  /** Waits for the reply. Never rejects, because the message is already durable. */
  async function answerLater(
    response: ServerResponse,
    delivery: { id: string; duplicate?: boolean },
    { data }: NewMessage,
    body?: Json,
  ) {
    const disconnected = new AbortController()
    response.once('close', () => disconnected.abort('the connection was closed'))
    const signal = AbortSignal.any([disconnected.signal, closing.signal])
    const reply = await awaitReply(deps, delivery, data.replyTarget, options.timeout, signal)
    const http = isJsonObject(reply?.data) ? reply.data.http : undefined
    // The reply was validated when it was sent.
    const httpAnswer = http === undefined ? undefined : attempt(() => readHttpAnswer(deps.gateway, http))
    if (httpAnswer) writeHttpAnswer(response, httpAnswer)
    else acknowledge(response, { ...delivery, ...(reply && { reply: String(reply.text) }) }, body)
  }

  return {
    /** Answers a delivery of one message. */
    one(response: ServerResponse, { id, duplicate }: Accepted, message: NewMessage, body?: Json): void {
      const delivery = duplicate ? { id, duplicate } : { id }
      // The case of most deliveries. An id is ASCII, and needs no escaping.
      if (isPlain && !duplicate) answerAscii(response, 202, 'application/json', `{"id":"${id}"}`)
      else if (isAwaited) void answerLater(response, delivery, message, body)
      else acknowledge(response, delivery, body)
    },
    /** Answers a delivery of several messages, or of none. */
    all(response: ServerResponse, accepted: readonly Accepted[], body?: Json): void {
      acknowledge(response, deliveryOf(accepted), body)
    },
    /** Acknowledges the deliveries that wait for a reply: their messages are durable. */
    close: () => closing.abort('the gateway was stopped'),
  }
}

/** The ids of a delivery's messages, and the number of duplicates. */
function deliveryOf(accepted: readonly Accepted[]): AcceptedDelivery {
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

/** Sends a response. By default its type is JSON, and it is empty. */
export function answer(
  response: ServerResponse,
  { status, type = 'application/json', text = '' }: Answer,
): void {
  answerQuickly(response, status, type, text)
}
