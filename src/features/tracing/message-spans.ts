import type { Context, SpanOptions, Tracer } from '@opentelemetry/api'
import { isJsonObject } from '../../core/json.ts'
import { type Accepted, completeMessage, type Message, type NewMessage } from '../../core/message.ts'
import { defined } from '../../lib/defined.ts'
import { createInSpan } from './spans.ts'
import type { StartedSdk } from './start-sdk.ts'

/** The kind and attributes of a span, by OpenTelemetry's conventions for messaging. */
export function spanOptions(
  operation: string,
  kind: number,
  message: Partial<Message>,
  more: object = {},
): SpanOptions {
  return {
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
  }
}

/** The spans of messages: their acceptance, and later work on them. */
export function createMessageSpans({ api, withIds }: StartedSdk, tracer: Tracer) {
  const { context, propagation, ROOT_CONTEXT, SpanKind, trace } = api
  const inSpan = createInSpan(api, tracer)

  /** The context with the sender's trace, if the headers of the message have one. */
  const contextOf = ({ data }: NewMessage, outer = ROOT_CONTEXT) =>
    propagation.extract(outer, isJsonObject(data.headers) ? data.headers : {})

  /**
   * Starts the span of a message's acceptance. Its ids are derived from the message, so that any
   * daemon can recreate it as the parent of later work. Such a copy is never ended, and so never
   * exported. `startTime`: Unix ms.
   */
  const startReceived = (message: Message, parent: Context, startTime: number) => {
    const options = { ...spanOptions('receive', SpanKind.CONSUMER, message), startTime }
    const ids = { traceId: message.trace, spanId: message.id.replaceAll('-', '').slice(-16) }
    return withIds(ids, () => tracer.startSpan(`receive ${message.gateway}`, options, parent))
  }

  return {
    inSpan,
    /** Runs work in a span below that of the message; without a message, in a new trace. */
    within<T>(message: Message | undefined, name: string, options: SpanOptions, work: () => Promise<T>) {
      if (!message) return inSpan(name, options, work, ROOT_CONTEXT)
      const { receivedAt } = message
      const parent = startReceived(message, contextOf(message), receivedAt).spanContext()
      return inSpan(name, options, work, trace.setSpanContext(ROOT_CONTEXT, parent))
    },
    /**
     * Adds the sender's trace to a message. Returns the message, and a function to call after its
     * acceptance, which ends its span.
     */
    begin(message: NewMessage) {
      const receivedAt = Date.now()
      const parent = contextOf(message, context.active())
      const traced = { ...message, ...defined({ trace: trace.getSpanContext(parent)?.traceId }) }
      const end = ({ id, duplicate }: Accepted): Accepted => {
        const head = { id, gateway: message.gateway, receivedAt }
        if (!duplicate) startReceived(completeMessage(head, traced), parent, receivedAt).end()
        return { id, duplicate }
      }
      return { traced, end }
    },
  }
}
