import { TriviumError } from '../../core/errors.ts'
import type { Json } from '../../core/json.ts'
import { backoff } from '../../lib/backoff.ts'
import { pause } from '../../lib/pause.ts'
import type { Environs } from '../command.ts'
import { connect } from '../connection.ts'

/** Pauses (ms) between attempts while the daemon cannot be reached. */
const BACKOFF = { first: 200, longest: 2_000 }

export type PatientCalls = ReturnType<typeof createPatientCalls>

/**
 * Calls of skills that survive a restart of the daemon. `notify` is called once at the start and
 * once at the end of an outage. The first call throws if no daemon is running.
 */
export function createPatientCalls(environs: Environs, signal: AbortSignal, notify: (text: string) => void) {
  let connection: Awaited<ReturnType<typeof connect>> | undefined
  let hasConnected = false
  let isOutage = false

  const reconnect = async () => {
    const opened = await connect(environs)
    if (isOutage) notify('The daemon answers again.')
    isOutage = false
    hasConnected = true
    return opened
  }

  const once = async (name: string, args: object, until?: AbortSignal): Promise<Json> => {
    try {
      connection ??= await reconnect()
      return await connection.invoke(name, args, until)
    } catch (error) {
      connection = undefined
      throw error
    }
  }

  return {
    /** A single attempt. */
    once,
    /** Retries while the daemon cannot be reached. Throws if `signal` aborts. */
    async call(name: string, args: object): Promise<Json> {
      for (let failures = 1; ; failures++) {
        try {
          return await once(name, args, signal)
        } catch (error) {
          if (signal.aborted || !hasConnected || !isTemporary(error)) throw error
          if (!isOutage) notify('The daemon does not answer; trying again.')
          isOutage = true
          await pause(backoff(failures, BACKOFF), signal)
          if (signal.aborted) throw error
        }
      }
    },
    /** Reads an attachment of a message. */
    async readFile(sha256: string, message: string): Promise<Buffer> {
      connection ??= await connect(environs)
      return connection.file(sha256, message)
    },
  }
}

/** Whether an error may end with a restart of the daemon. */
function isTemporary(error: unknown): boolean {
  return (
    error instanceof TriviumError &&
    (error.retryable || /^(not_running|not_answering|cancelled)$/.test(error.code))
  )
}
