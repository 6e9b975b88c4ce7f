import type { RequestListener } from 'node:http'
import type { Tracer } from '@opentelemetry/api'
import { type Event, MESSAGE_TOPIC } from '../../core/event.ts'
import type { Log } from '../../core/log.ts'
import type { Accepted, Message, NewMessage } from '../../core/message.ts'
import { isId } from '../../core/message-id.ts'
import { loadIfThere } from '../../core/parts.ts'
import type { Target } from '../../engine/dispatch-options.ts'
import type { Sender } from '../../engine/outbox-worker.ts'
import { defined } from '../../lib/defined.ts'
import { createMessageSpans, spanOptions } from './message-spans.ts'
import { skillMiddleware, traceRequests } from './spans.ts'
import { startSdk } from './start-sdk.ts'

export type Tracing = NonNullable<Awaited<ReturnType<typeof startTracing>>>

/**
 * Sends traces to the receiver in the OTEL_* variables: one trace per message, with spans by the
 * messaging conventions around the work of the roads. `find`: finds a message that is still
 * retained. Resolves with functions that wrap the parts of the daemon; undefined without a receiver
 * or the SDK.
 */
export async function startTracing(
  env: NodeJS.ProcessEnv,
  log: Log,
  find: (id: string) => Promise<Message | undefined>,
) {
  const sdk = await startSdk(env, log)
  if (!sdk) return undefined
  const { context, propagation, ROOT_CONTEXT, SpanKind, trace } = sdk.api
  const tracer = trace.getTracer('trivium')
  const { begin, inSpan, within } = createMessageSpans(sdk, tracer)
  traceRequests(sdk.api, tracer)

  return {
    /** For BullMQ: workers continue the trace of the message. */
    telemetry: await traceQueues(),
    /** Spans of model steps and tools, by the conventions for generative AI, without content. */
    models: await traceModels(tracer),
    middleware: skillMiddleware(inSpan),
    /** Wraps an HTTP listener whose callers may send a trace. */
    serve:
      (listener: RequestListener): RequestListener =>
      (request, response) =>
        context.with(
          propagation.extract(ROOT_CONTEXT, request.headers),
          listener,
          undefined,
          request,
          response,
        ),
    /** Wraps the acceptance of a message. */
    accept: (accept: (message: NewMessage) => Promise<Accepted>) => async (message: NewMessage) => {
      const { traced, end } = begin(message)
      return end(await accept(traced))
    },
    acceptAll:
      (acceptAll: (messages: readonly NewMessage[]) => Promise<Accepted[]>) =>
      async (messages: readonly NewMessage[]) => {
        const begun = messages.map(begin)
        const accepted = await acceptAll(begun.map(({ traced }) => traced))
        return accepted.map((answer, index) => begun[index]?.end(answer) ?? answer)
      },
    /** Wraps the processing of dispatched messages. */
    process:
      (target: Target): Target =>
      (dispatch) => {
        const { message, route, attempt } = dispatch
        const more = { 'trivium.route': route.name, 'trivium.attempt': attempt }
        const options = spanOptions('process', SpanKind.CONSUMER, message, more)
        return within(message, `process ${route.name}`, options, () => target(dispatch))
      },
    /** Wraps a sender of replies, whose spans belong to the traces of the answered messages. */
    sender: (sender: Sender): Sender => ({
      ...sender,
      async send(reply) {
        const { inReplyTo: id, gateway, conversation } = reply
        const message = id === undefined ? undefined : await find(id).catch(() => undefined)
        const options = spanOptions('send', SpanKind.PRODUCER, { gateway, conversation, ...defined({ id }) })
        return within(message, `send ${gateway}`, options, () => sender.send(reply))
      },
    }),
    /**
     * Runs work on an event as a span, in the trace of the message that the event is about, or
     * whose skill published the event.
     */
    async event<T>(name: string, { id, topic, rootContextId }: Event, work: () => Promise<T>): Promise<T> {
      const cause = topic === MESSAGE_TOPIC ? id : (rootContextId ?? '')
      const message = isId(cause) ? await find(cause).catch(() => undefined) : undefined
      const options = spanOptions('process', SpanKind.CONSUMER, { id, gateway: topic })
      return within(message, name, options, work)
    },
    stop: sdk.stop,
  }
}

/** The telemetry option of BullMQ; undefined if the part is not installed. */
async function traceQueues() {
  const library = await loadIfThere('queues', () => import('bullmq-otel'))
  return library && new library.BullMQOtel({ tracerName: 'trivium' })
}

/** The telemetry option of the AI SDK; undefined if the part is not installed. */
async function traceModels(tracer: Tracer) {
  const library = await loadIfThere('model', () => import('@ai-sdk/otel'))
  if (!library) return undefined
  const integrations = [new library.OpenTelemetry({ tracer })]
  return { integrations, recordInputs: false, recordOutputs: false }
}
