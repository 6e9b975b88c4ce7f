import type { JsonObject } from '../../src/core/json.ts'
import type { Health } from '../../src/core/transport.ts'

/** What brings payloads in: a socket, or a path on the public listener. */
export type Listener = {
  start(): void
  /** Ends once what was taken is acknowledged. */
  stop(): Promise<void>
  health(): Required<Omit<Health, 'warning'>>
}

/** Who is told of what comes in. */
export type Listening = {
  /** Resolves once the payload is durable, with what its acknowledgement says; rejects: it is not acknowledged. */
  take(payload: JsonObject, retry?: number): Promise<object | undefined>
  /** Called each time that what is written begins to come. */
  connected(): void
}
