import { subscribe } from 'node:diagnostics_channel'
import type { Context, Span, SpanOptions, Tracer } from '@opentelemetry/api'
import type { DiagnosticsChannel } from 'undici'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import { type BuiltInLayer, defineBuiltInLayer } from '../../core/layers.ts'

type Api = typeof import('@opentelemetry/api')

/** Runs work in a span, which is active for everything within. */
export type InSpan = <T>(
  name: string,
  options: SpanOptions,
  work: (span: Span) => PromiseLike<T>,
  parent?: Context,
) => Promise<T>

export function createInSpan({ context, SpanStatusCode }: Api, tracer: Tracer): InSpan {
  return (name, options, work, parent = context.active()) =>
    tracer.startActiveSpan(name, options, parent, async (span) => {
      try {
        return await work(span)
      } catch (error) {
        setError(span, error, SpanStatusCode.ERROR)
        throw error
      } finally {
        span.end()
      }
    })
}

function setError(span: Span, error: unknown, code: number): void {
  span.setAttribute('error.type', error instanceof TriviumError ? error.code : 'error')
  span.setStatus({ code, message: reasonOf(error) })
}

/** The outermost middleware of each skill: a span, whose trace id the logs of the call contain. */
export function skillMiddleware(inSpan: InSpan): BuiltInLayer {
  return defineBuiltInLayer({
    name: 'trace',
    order: -1_000,
    description: 'An OpenTelemetry span',
    always: true,
    setup:
      (_, { name }) =>
      (ctx, next) =>
        inSpan(`skill ${name}`, { attributes: { 'trivium.skill': name } }, (span) => {
          ctx.call.trace = span.spanContext().traceId
          return next()
        }),
  })
}

/** A request of undici before it is sent. */
type OutgoingRequest = DiagnosticsChannel.RequestCreateMessage['request'] & {
  addHeader(name: string, value: string): void
}

/**
 * Creates a span for each request by `fetch` or undici within a trace, and passes the trace on in
 * `traceparent`. Of a URL, spans have only host and port, because the rest may contain a secret.
 */
export function traceRequests(
  { context, propagation, SpanKind, SpanStatusCode, trace }: Api,
  tracer: Tracer,
): void {
  const spans = new WeakMap<object, Span>()
  // Node types these messages as unknown; undici documents their types.
  const listeners: Record<string, (request: OutgoingRequest, message: object) => void> = {
    create(request) {
      if (!trace.getActiveSpan()) return
      const { hostname, port, protocol } = new URL(String(request.origin))
      const attributes = {
        'http.request.method': request.method ?? 'GET',
        'server.address': hostname,
        'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
      }
      const span = tracer.startSpan(request.method ?? 'GET', { kind: SpanKind.CLIENT, attributes })
      spans.set(request, span)
      propagation.inject(trace.setSpan(context.active(), span), request, {
        set: (_, name, value) => request.addHeader(name, value),
      })
    },
    headers(request, message) {
      const { response } = message as DiagnosticsChannel.RequestHeadersMessage
      const span = spans.get(request)
      span?.setAttribute('http.response.status_code', response.statusCode)
      if (response.statusCode >= 400) span?.setStatus({ code: SpanStatusCode.ERROR })
    },
    trailers: (request) => spans.get(request)?.end(),
    error(request, message) {
      const span = spans.get(request)
      if (!span) return
      setError(span, (message as DiagnosticsChannel.RequestErrorMessage).error, SpanStatusCode.ERROR)
      span.end()
    },
  }
  for (const [name, listen] of Object.entries(listeners))
    subscribe(`undici:request:${name}`, (message) =>
      listen((message as { request: OutgoingRequest }).request, message as object),
    )
}
