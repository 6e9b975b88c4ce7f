import { randomUUID } from 'node:crypto'
import { reasonOf, TriviumError } from '../../src/core/errors.ts'
import type { RefusedTry } from '../../src/core/transport.ts'
import { HOUR, MIB } from '../../src/core/units.ts'
import { hasSecret } from './checked-secret.ts'
import { createVerifier } from './verifier.ts'
import type { Delivery, VerifierDeps } from './verifier-types.ts'
import type { Verify } from './verify.ts'

/** Maximum number of kept deliveries of a gateway. */
const MAX_DELIVERIES = 50
const MAX_AGE_MS = HOUR
/** Maximum size of all kept deliveries of a gateway. */
const MAX_BYTES = MIB

type Kept = Delivery & { id: string; at: number }

/**
 * Keeps the newest deliveries with a refused signature, unchanged, so that another secret can be
 * tried. Keeps them only in memory, because they contain credentials of senders.
 */
export function createRefusedDeliveries(verify: Verify, deps: VerifierDeps) {
  const { gateway, now } = deps
  let kept: Kept[] = []
  const isRecent = ({ at }: Kept) => at > now() - MAX_AGE_MS

  return {
    /**
     * Returns the id for `try`. Undefined for a too large delivery or a scheme without a
     * secret.
     */
    keep(delivery: Delivery): string | undefined {
      if (!hasSecret(verify) || delivery.raw.length > MAX_BYTES) return undefined
      const id = randomUUID()
      const others = kept.filter(isRecent).slice(0, MAX_DELIVERIES - 1)
      let room = MAX_BYTES - delivery.raw.length
      const fitting = others.filter(({ raw }) => {
        room -= raw.length
        return room >= 0
      })
      // Copied, because `raw` may be a slice, which would keep a larger buffer in memory.
      kept = [{ ...delivery, raw: Buffer.from(delivery.raw), id, at: now() }, ...fitting]
      return id
    },
    /**
     * Checks the kept deliveries with another secret. Returns the result for the delivery `id`
     * (by default the newest), and how many of all deliveries the secret fits (`fits`). Accepts
     * nothing, and does not keep the secret. Throws `refused_gone`, `usage`.
     */
    async try({ id, secret }: { id?: string | undefined; secret: string }): Promise<RefusedTry> {
      if (!hasSecret(verify)) {
        const details = `gateway ${gateway} has verify: { scheme: ${verify.scheme} }, which uses no secret`
        throw new TriviumError('usage', { details })
      }
      const recent = kept.filter(isRecent)
      const chosen = id === undefined ? recent[0] : recent.find((delivery) => delivery.id === id)
      if (!chosen) throw new TriviumError('refused_gone', { gateway })
      const reasons = await Promise.all(recent.map((delivery) => checkWith(delivery, secret)))
      const reason = await checkWith(chosen, secret)
      return {
        ok: reason === undefined,
        ...(reason !== undefined && { reason }),
        at: chosen.at,
        fits: reasons.filter((each) => each === undefined).length,
        tried: recent.length,
      }
    },
  }

  /**
   * Checks a delivery as of its arrival, because signatures contain a time. Returns the fault.
   */
  async function checkWith(delivery: Kept, secret: string): Promise<string | undefined> {
    if (!hasSecret(verify)) return 'its check uses no secret'
    try {
      const verifier = createVerifier({ ...verify, secret: [secret] }, { ...deps, now: () => delivery.at })
      return await verifier.check(delivery)
    } catch (error) {
      return `this is not a secret in the form that the provider shows: ${reasonOf(error).replaceAll(secret, '[secret]')}`
    }
  }
}
