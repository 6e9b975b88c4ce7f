import { randomBytes } from 'node:crypto'
import { reasonOf } from '../../core/errors.ts'
import { parseJson, textAt } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import { loadPart } from '../../core/parts.ts'
import { inTime } from '../../lib/pause.ts'

type Api = typeof import('@opentelemetry/api')
type Ids = { traceId: string; spanId: string }

export type StartedSdk = NonNullable<Awaited<ReturnType<typeof startSdk>>>

const MISSING = 'traces are off: install the part tracing, or set OTEL_SDK_DISABLED=true'

/**
 * Starts the SDK of OpenTelemetry if an OTEL_* variable names a receiver; loads nothing otherwise. Logs it if the SDK, a large optional
 * peer, is missing.
 */
export async function startSdk(env: NodeJS.ProcessEnv, log: Log) {
  const isNamed = env.OTEL_EXPORTER_OTLP_ENDPOINT || env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT
  if (!isNamed || env.OTEL_SDK_DISABLED === 'true') return undefined
  // The SDK reads `process.env`, which does not include `.env`.
  for (const [name, value] of Object.entries(env)) if (name.startsWith('OTEL_')) process.env[name] = value
  const library = await loadPart('tracing', () => import('@opentelemetry/sdk-node')).catch(
    (error: unknown) => void log.error({ reason: reasonOf(error) }, MISSING),
  )
  if (!library) return undefined
  const api = await import('@opentelemetry/api')
  let given: Ids | undefined
  const idGenerator = {
    generateTraceId: () => given?.traceId ?? randomBytes(16).toString('hex'),
    generateSpanId: () => given?.spanId ?? randomBytes(8).toString('hex'),
  }
  const serviceName = env.OTEL_SERVICE_NAME ?? 'trivium'
  const sdk = new library.NodeSDK({ serviceName, idGenerator, metricReaders: [], logRecordProcessors: [] })
  sdk.start()
  logLostTraces(api, log)
  return {
    api,
    /** Starts a span with these ids. */
    withIds<T>(ids: Ids, start: () => T): T {
      given = ids
      const span = start()
      given = undefined
      return span
    },
    stop: () => inTime(sdk.shutdown(), AbortSignal.timeout(2_000)),
  }
}

/** Logs each reason once: a receiver that is down fails every batch. */
function logLostTraces({ diag, DiagLogLevel }: Api, log: Log): void {
  let logged = ''
  const warn = (text: string) => {
    const reason = textAt(parseJson(text), 'message') ?? text
    if (reason !== logged) log.warn({ reason }, 'traces are lost')
    logged = reason
  }
  const silent = () => {}
  const logger = { error: warn, warn, info: silent, debug: silent, verbose: silent }
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
}
