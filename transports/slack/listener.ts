import type { JsonObject } from '../../src/core/json.ts'
import type { Health } from '../../src/core/transport.ts'

/** The source of payloads: a socket, or a path on the public listener. */
export type Listener = {
  start(): void
  /** Stops after acknowledging payloads in progress. */
  stop(): Promise<void>
  health(): Required<Pick<Health, 'ok' | 'detail' | 'gauges'>>
}

/** Callbacks of a listener. */
export type Listening = {
  /**
   * Takes a payload. Resolves once it is durable, with the content of its acknowledgement, if any.
   * If it rejects, the payload is not acknowledged. `retry`: number of the retry; 0 for the first
   * delivery.
   */
  take(payload: JsonObject, retry?: number): Promise<object | undefined>
  /** Called each time a connection starts to deliver. */
  connected(): void
}
