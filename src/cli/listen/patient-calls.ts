import { TriviumError } from '../../core/errors.ts'
import type { Json } from '../../core/json.ts'
import { backoff } from '../../lib/backoff.ts'
import { pause } from '../../lib/pause.ts'
import type { Environs } from '../command.ts'
import { connect } from '../connection.ts'

const PAUSE = { first: 200, longest: 2_000 }

export type PatientCalls = ReturnType<typeof createPatientCalls>

/**
 * Calls of skills that survive a restart of the daemon. `tell` says once per outage that the daemon is away, and then that it is
 * back. The first call throws if there is no daemon.
 */
export function createPatientCalls(environs: Environs, signal: AbortSignal, tell: (what: string) => void) {
  let connection: Awaited<ReturnType<typeof connect>> | undefined
  let hasConnected = false
  let isGone = false

  const connectAgain = async () => {
    const made = await connect(environs)
    if (isGone) tell('The daemon answers again.')
    isGone = false
    hasConnected = true
    return made
  }

  const once = async (name: string, args: object, until?: AbortSignal): Promise<Json> => {
    try {
      connection ??= await connectAgain()
      return await connection.invoke(name, args, until)
    } catch (error) {
      connection = undefined
      throw error
    }
  }

  return {
    /** A single attempt. */
    once,
    /** Retries while the daemon is away. Throws if the listener is interrupted. */
    async call(name: string, args: object): Promise<Json> {
      for (let failures = 0; ; ) {
        try {
          return await once(name, args, signal)
        } catch (error) {
          if (signal.aborted || !hasConnected || !isAway(error)) throw error
          if (!isGone) tell('The daemon does not answer; trying again.')
          isGone = true
          failures += 1
          await pause(backoff(failures, PAUSE), signal)
          if (signal.aborted) throw error
        }
      }
    },
    /** Reads an attachment of a message. */
    async file(sha256: string, message: string): Promise<Buffer> {
      connection ??= await connect(environs)
      return connection.file(sha256, message)
    },
  }
}

function isAway(error: unknown): boolean {
  return (
    error instanceof TriviumError &&
    (error.retryable || /^(not_running|not_answering|cancelled)$/.test(error.code))
  )
}
