import type { IncomingMessage, ServerResponse } from 'node:http'
import { toTriviumError } from '../../src/core/errors.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import type { createInFlight } from '../../src/lib/in-flight.ts'

/** A request on its way through the gateway. */
export type Visit = {
  request: IncomingMessage
  response: ServerResponse
  stage: 'verify' | 'read' | 'accept'
  raw: Buffer | undefined
  /** The id under which a refused delivery is kept, so that another secret can be tried on it. */
  refusedId: string | undefined
}

/** A step of a visit. It may throw. */
type Step<T> = (visit: Visit, value: T) => void

/**
 * Runs the steps of visits. An error ends a visit, and becomes the response. `secretHeader`: the
 * configured header that has the credentials of a delivery.
 */
export function createSteps(
  deps: TransportDeps,
  secretHeader: string | undefined,
  accepting: Pick<ReturnType<typeof createInFlight>, 'leave'>,
) {
  function run<T>(visit: Visit, step: Step<T>, value: T): void {
    try {
      step(visit, value)
    } catch (error) {
      fail(visit, error)
    }
  }

  function fail({ request, response, stage, raw, refusedId }: Visit, error: unknown) {
    const { code, message: why } = toTriviumError(error)
    // `accept` reports its own refusals.
    if (stage !== 'accept') {
      const { headers, socket } = request
      const sent = { body: raw, headers, secretHeader }
      deps.refused(code, { from: socket.remoteAddress, why, ...sent, id: refusedId })
    }
    if (stage !== 'verify') accepting.leave()
    deps.http.fail(request, response, error)
  }

  return {
    run,
    fail,
    /** Continues with a value, which is awaited only if it is a promise. */
    proceed<T>(visit: Visit, value: T | Promise<T>, step: Step<T>): void {
      if (value instanceof Promise) {
        value.then(
          (found) => run(visit, step, found),
          (error: unknown) => fail(visit, error),
        )
      } else step(visit, value)
    },
  }
}
