import { createParser } from 'eventsource-parser'
import { TriviumError } from '../core/errors.ts'
import { type JsonObject, jsonObjectSchema, parseJson } from '../core/json.ts'
import { backoff } from '../lib/backoff.ts'
import { inTime, pause } from '../lib/pause.ts'
import type { Environs } from './command.ts'
import { connect } from './connection.ts'

/** A connection counts as broken after this time (ms). The daemon writes every ten seconds. */
const MAX_SILENCE = 25_000
/** Pauses (ms) between attempts to reopen the stream. */
const BACKOFF = { first: 200, longest: 2_000 }

/**
 * The reader of a stream. `event` is called for each event, and `onBreak` once per outage, when the
 * stream broke and is being reopened.
 */
export type StreamReader = { event(name: string, data: JsonObject): void; onBreak(reason: string): void }

/**
 * Reads the daemon's event stream until `signal` aborts. Survives restarts of the daemon, and
 * continues after the last message. Throws if it cannot start: `not_running`, `unauthorized`,
 * `bad_request` for an invalid filter. Also throws what `reader` throws.
 */
export async function readStream(
  environs: Environs,
  query: Record<string, string>,
  reader: StreamReader,
  signal: AbortSignal,
): Promise<void> {
  let lastId: string | undefined
  const parser = createParser({
    onEvent({ event = 'message', data, id }) {
      reader.event(event, jsonObjectSchema.parse(parseJson(data)))
      if (id !== undefined) lastId = id
    },
  })
  const open = async (attemptSignal: AbortSignal) => {
    const connection = await connect(environs)
    return connection.stream(new URLSearchParams(query).toString(), lastId, attemptSignal)
  }
  let hasBegun = false
  const ifLost = (error: unknown) => {
    const isUnauthorized = error instanceof TriviumError && error.code === 'unauthorized'
    if (!signal.aborted && (!hasBegun || isUnauthorized)) throw error
    return undefined
  }
  for (let failures = 0; !signal.aborted; failures++) {
    if (hasBegun) await pause(backoff(failures, BACKOFF), signal)
    const attempt = new AbortController()
    try {
      const chunks = await open(AbortSignal.any([signal, attempt.signal])).catch(ifLost)
      if (chunks) hasBegun = true
      while (chunks) {
        const silence = AbortSignal.any([signal, AbortSignal.timeout(MAX_SILENCE)])
        const next = await inTime(chunks.next(), silence).catch(ifLost)
        if (!next || next.done) break
        failures = 0
        parser.feed(String(next.value))
      }
    } finally {
      // A silent connection would otherwise stay open beside the next one.
      attempt.abort()
    }
    parser.reset()
    // Later attempts of the same outage have `failures` > 0.
    if (failures === 0 && !signal.aborted) reader.onBreak('The daemon does not answer; trying again.')
  }
}
