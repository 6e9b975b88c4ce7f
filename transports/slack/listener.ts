import type { JsonObject } from '../../src/core/json.ts'
import type { Health } from '../../src/core/transport.ts'

/** The source of payloads: a socket, or a path on the public listener. */
export type Listener = {
  start(): void
  /** Stops after acknowledging payloads in progress. */
  stop(): Promise<void>
  health(): Required<Omit<Health, 'warning'>>
}

/** Callbacks of a listener. */
export type Listening = {
  /** Resolves once the payload is durable, with the content of its acknowledgement. If it rejects, the payload is not acknowledged. */
  take(payload: JsonObject, retry?: number): Promise<object | undefined>
  /** Called each time a connection starts to deliver. */
  connected(): void
}
