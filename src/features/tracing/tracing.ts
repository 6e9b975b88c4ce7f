import { randomBytes } from 'node:crypto'
import type { RequestListener } from 'node:http'
import type { Tracer } from '@opentelemetry/api'
import { reasonOf } from '../../core/errors.ts'
import { type Event, MESSAGE_TOPIC } from '../../core/event.ts'
import { isJsonObject, parseJson, textAt } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import { type Accepted, completeMessage, type Message, type NewMessage } from '../../core/message.ts'
import { isId } from '../../core/message-id.ts'
import { loadIfThere, loadPart } from '../../core/parts.ts'
import type { Target } from '../../engine/dispatch-options.ts'
import type { Sender } from '../../engine/outbox-worker.ts'
import { defined } from '../../lib/defined.ts'
import { inTime } from '../../lib/pause.ts'
import { createInSpan, skillLayer, traceRequests } from './spans.ts'

export type Tracing = NonNullable<Awaited<ReturnType<typeof startTracing>>>

const MISSING = 'there are no traces: install the part tracing, or set OTEL_SDK_DISABLED=true'

/**
 * Sends traces where the OTEL_* variables say: spans by the messaging conventions, one trace a message, around what the roads are made
 * of. Undefined, and nothing loaded, where none names a receiver; logged where the SDK, a large optional peer, is missing. `find` gives a
 * message, where it is still there.
 */
export async function startTracing(
  env: NodeJS.ProcessEnv,
  log: Log,
  find: (id: string) => Promise<Message | undefined>,
) {
  const isNamed = env.OTEL_EXPORTER_OTLP_ENDPOINT || env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT
  if (!isNamed || env.OTEL_SDK_DISABLED === 'true') return undefined
  // The SDK looks there, and does not know of `.env`.
  for (const [name, value] of Object.entries(env)) if (name.startsWith('OTEL_')) process.env[name] = value
  const library = await loadPart('tracing', () => import('@opentelemetry/sdk-node')).catch(
    (error: unknown) => void log.error({ reason: reasonOf(error) }, MISSING),
  )
  if (!library) return undefined
  const api = await import('@opentelemetry/api')
  const { context, diag, DiagLogLevel, propagation, ROOT_CONTEXT, SpanKind, trace } = api
  let given: { traceId: string; spanId: string } | undefined
  const idGenerator = {
    generateTraceId: () => given?.traceId ?? randomBytes(16).toString('hex'),
    generateSpanId: () => given?.spanId ?? randomBytes(8).toString('hex'),
  }
  const serviceName = env.OTEL_SERVICE_NAME ?? 'trivium'
  const own = { serviceName, idGenerator, metricReaders: [], logRecordProcessors: [] }
  const sdk = new library.NodeSDK(own)
  sdk.start()
  let told = ''
  // A receiver that is down fails every batch.
  const tell = (said: string) => {
    const reason = textAt(parseJson(said), 'message') ?? said
    if (reason !== told) log.warn({ reason }, 'traces are lost')
    told = reason
  }
  const silent = () => {}
  const logger = { error: tell, warn: tell, info: silent, debug: silent, verbose: silent }
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
  const tracer = trace.getTracer('trivium')
  const inSpan = createInSpan(api, tracer)
  traceRequests(api, tracer)

  const options = (operation: string, kind: number, message: Partial<Message>, more: object = {}) => ({
    kind,
    attributes: {
      'messaging.system': 'trivium',
      'messaging.operation.name': operation,
      'messaging.operation.type': operation,
      ...defined({
        'messaging.destination.name': message.gateway,
        'messaging.message.id': message.id,
        'messaging.message.conversation_id': message.conversation,
      }),
      ...more,
    },
  })

  const senderOf = ({ data }: NewMessage, outer = ROOT_CONTEXT) =>
    propagation.extract(outer, isJsonObject(data.headers) ? data.headers : {})

  /**
   * The span of a message's acceptance. Its ids follow from the message, so that any daemon can make it again as the parent
   * of what is done about it later: then it is never ended, which sends nothing.
   */
  const received = (message: Message, parent = senderOf(message), startTime = message.receivedAt) => {
    const about = options('receive', SpanKind.CONSUMER, message)
    given = { traceId: message.trace, spanId: message.id.replaceAll('-', '').slice(-16) }
    const span = tracer.startSpan(`receive ${message.gateway}`, { ...about, startTime }, parent)
    given = undefined
    return span
  }

  const within = <T>(
    message: Message | undefined,
    name: string,
    about: ReturnType<typeof options>,
    work: () => Promise<T>,
  ) => {
    const parent = message
      ? trace.setSpanContext(ROOT_CONTEXT, received(message).spanContext())
      : ROOT_CONTEXT
    return inSpan(name, about, work, parent)
  }

  /** A message with the trace of who sent it, and what ends its span once it is accepted. */
  const begin = (message: NewMessage) => {
    const receivedAt = Date.now()
    const parent = senderOf(message, context.active())
    const traced = { ...message, ...defined({ trace: trace.getSpanContext(parent)?.traceId }) }
    const end = ({ id, duplicate }: Accepted): Accepted => {
      const head = { id, gateway: message.gateway, receivedAt }
      if (!duplicate) received(completeMessage(head, traced), parent, receivedAt).end()
      return { id, duplicate }
    }
    return { traced, end }
  }

  return {
    /** For BullMQ: who works on a job goes on with the trace of its message. */
    telemetry: await traceQueues(),
    /** Spans of the steps of a model and of its tools, by the conventions for generative models; what is said is not in them. */
    models: await traceModels(tracer),
    middleware: skillLayer(inSpan),
    /** For a listener of HTTP whose callers may bring a trace. */
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
    process:
      (target: Target): Target =>
      (dispatch) => {
        const { message, route, attempt } = dispatch
        const more = { 'trivium.route': route.name, 'trivium.attempt': attempt }
        const about = options('process', SpanKind.CONSUMER, message, more)
        return within(message, `process ${route.name}`, about, () => target(dispatch))
      },
    sender: (sender: Sender): Sender => ({
      ...sender,
      async send(reply) {
        const { inReplyTo: id, gateway, conversation } = reply
        const message = id === undefined ? undefined : await find(id).catch(() => undefined)
        const about = options('send', SpanKind.PRODUCER, { gateway, conversation, ...defined({ id }) })
        return within(message, `send ${gateway}`, about, () => sender.send(reply))
      },
    }),
    /** What is done about an event belongs to its message, or to the message that made a skill publish it. */
    async event<T>(name: string, { id, topic, rootContextId }: Event, work: () => Promise<T>): Promise<T> {
      const cause = topic === MESSAGE_TOPIC ? id : (rootContextId ?? '')
      const message = isId(cause) ? await find(cause).catch(() => undefined) : undefined
      const about = options('process', SpanKind.CONSUMER, { id, gateway: topic })
      return within(message, name, about, work)
    },
    stop: () => inTime(sdk.shutdown(), AbortSignal.timeout(2_000)),
  }
}

async function traceQueues() {
  const library = await loadIfThere('queues', () => import('bullmq-otel'))
  return library && new library.BullMQOtel({ tracerName: 'trivium' })
}

async function traceModels(tracer: Tracer) {
  const library = await loadIfThere('model', () => import('@ai-sdk/otel'))
  if (!library) return undefined
  const integrations = [new library.OpenTelemetry({ tracer })]
  return { integrations, recordInputs: false, recordOutputs: false }
}
