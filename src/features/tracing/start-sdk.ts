import { randomBytes } from 'node:crypto'
import { reasonOf } from '../../core/errors.ts'
import { parseJson, textAt } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import { loadPart } from '../../core/parts.ts'
import { inTime } from '../../lib/pause.ts'

type Api = typeof import('@opentelemetry/api')
type Ids = { traceId: string; spanId: string }

export type StartedSdk = NonNullable<Awaited<ReturnType<typeof startSdk>>>

/** How long (ms) the last spans may take to be sent. */
const SHUTDOWN_TIMEOUT = 2_000
const MISSING = 'traces are off: install the part tracing, or set OTEL_SDK_DISABLED=true'

/**
 * Starts the SDK of OpenTelemetry if an OTEL_* variable names a receiver; otherwise loads nothing.
 * Resolves with undefined without a receiver, and if the SDK (an optional part) is missing, which
 * is logged.
 */
export async function startSdk(env: NodeJS.ProcessEnv, log: Log) {
  const receiver = env.OTEL_EXPORTER_OTLP_ENDPOINT || env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT
  if (!receiver || env.OTEL_SDK_DISABLED === 'true') return undefined
  // The SDK reads `process.env`, which does not include `.env`.
  for (const [name, value] of Object.entries(env)) if (name.startsWith('OTEL_')) process.env[name] = value
  const library = await loadPart('tracing', () => import('@opentelemetry/sdk-node')).catch(
    (error: unknown) => void log.error({ reason: reasonOf(error) }, MISSING),
  )
  if (!library) return undefined
  const api = await import('@opentelemetry/api')
  /** The ids of the span that `withIds` is starting. Otherwise ids are random. */
  let nextIds: Ids | undefined
  const idGenerator = {
    generateTraceId: () => nextIds?.traceId ?? randomBytes(16).toString('hex'),
    generateSpanId: () => nextIds?.spanId ?? randomBytes(8).toString('hex'),
  }
  const serviceName = env.OTEL_SERVICE_NAME ?? 'trivium'
  const sdk = new library.NodeSDK({ serviceName, idGenerator, metricReaders: [], logRecordProcessors: [] })
  sdk.start()
  logLostTraces(api, log)
  return {
    api,
    /** Gives the span that `start` starts these ids. */
    withIds<T>(ids: Ids, start: () => T): T {
      nextIds = ids
      try {
        return start()
      } finally {
        nextIds = undefined
      }
    },
    stop: () => inTime(sdk.shutdown(), AbortSignal.timeout(SHUTDOWN_TIMEOUT)),
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
  const ignore = () => {}
  const logger = { error: warn, warn, info: ignore, debug: ignore, verbose: ignore }
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
}
