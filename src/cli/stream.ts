import { createParser } from 'eventsource-parser'
import { TriviumError } from '../core/errors.ts'
import { type JsonObject, jsonObjectSchema, parseJson } from '../core/json.ts'
import { backoff } from '../lib/backoff.ts'
import { inTime, pause } from '../lib/pause.ts'
import type { Environs } from './command.ts'
import { connect } from './connection.ts'

/** A connection without data for this time (ms) counts as broken. The daemon writes every ten seconds. */
const SILENCE = 25_000
const PAUSE = { first: 200, longest: 2_000 }

/**
 * The reader of a stream. `event`: called for each event. `gone`: the stream broke and is being
 * reopened; called once per outage.
 */
export type StreamReader = { event(name: string, data: JsonObject): void; gone(reason: string): void }

/**
 * Reads the daemon's event stream until `signal` aborts. Survives restarts of the daemon, and
 * continues after the last message. Throws if it cannot start: `not_running`, `unauthorized`,
 * `bad_request` for an invalid filter.
 */
export async function readStream(
  environs: Environs,
  query: Record<string, string>,
  reader: StreamReader,
  signal: AbortSignal,
): Promise<void> {
  let last: string | undefined
  const parser = createParser({
    onEvent({ event = 'message', data, id }) {
      if (id !== undefined) last = id
      reader.event(event, jsonObjectSchema.parse(parseJson(data)))
    },
  })
  let hasBegun = false
  for (let failures = 0; !signal.aborted; failures++) {
    if (hasBegun) await pause(backoff(failures, PAUSE), signal)
    try {
      const connection = await connect(environs)
      const chunks = await connection.stream(new URLSearchParams(query).toString(), last, signal)
      hasBegun = true
      for (;;) {
        const next = await inTime(chunks.next(), AbortSignal.any([signal, AbortSignal.timeout(SILENCE)]))
        if (!next || next.done) break
        failures = 0
        parser.feed(String(next.value))
      }
    } catch (error) {
      const isRefused = error instanceof TriviumError && error.code === 'unauthorized'
      if (!signal.aborted && (!hasBegun || isRefused)) throw error
    }
    parser.reset()
    if (failures === 0 && !signal.aborted) reader.gone('The daemon does not answer; trying again.')
  }
}
