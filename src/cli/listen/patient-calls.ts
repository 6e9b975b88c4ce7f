import { TriviumError } from '../../core/errors.ts'
import type { Json } from '../../core/json.ts'
import { backoff } from '../../lib/backoff.ts'
import { pause } from '../../lib/pause.ts'
import type { Environs } from '../command.ts'
import { connect } from '../connection.ts'

const PAUSE = { first: 200, longest: 2_000 }

export type PatientCalls = ReturnType<typeof createPatientCalls>

/** Calls of skills that survive a restart of the daemon. `away` is told once per outage. Throws where the first call finds no daemon. */
export function createPatientCalls(environs: Environs, signal: AbortSignal, away: (reason: string) => void) {
  let connection: Awaited<ReturnType<typeof connect>> | undefined
  let hasAnswered = false

  const once = async (name: string, args: object, until?: AbortSignal): Promise<Json> => {
    try {
      connection ??= await connect(environs)
      return await connection.invoke(name, args, until)
    } catch (error) {
      connection = undefined
      throw error
    }
  }

  return {
    /** One try. */
    once,
    /** Tries again while the daemon is away, until the listener is interrupted; then it throws. */
    async call(name: string, args: object): Promise<Json> {
      for (let failures = 0; ; ) {
        try {
          const answer = await once(name, args, signal)
          hasAnswered = true
          return answer
        } catch (error) {
          if (signal.aborted || !hasAnswered || !isAway(error)) throw error
          if (failures === 0) away('The daemon does not answer; trying again.')
          failures += 1
          await pause(backoff(failures, PAUSE), signal)
          if (signal.aborted) throw error
        }
      }
    },
    /** The bytes of a file that a message brought. */
    async file(sha256: string, message: string): Promise<Buffer> {
      connection ??= await connect(environs)
      return connection.file(sha256, message)
    },
  }
}

function isAway(error: unknown): boolean {
  return error instanceof TriviumError && (error.retryable || /^(not_running|cancelled)$/.test(error.code))
}
