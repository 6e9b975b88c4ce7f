import { randomUUID } from 'node:crypto'
import { reasonOf, TriviumError } from '../../src/core/errors.ts'
import type { RefusedTry } from '../../src/core/transport.ts'
import { MIB } from '../../src/core/units.ts'
import { createVerifier } from './verifier.ts'
import type { Delivery, VerifierDeps } from './verifier-types.ts'
import type { Verify } from './verify.ts'

/** Number of refused deliveries kept per gateway, for how long (ms), and their total size in bytes. */
const MOST = 20
const KEPT = 3_600_000
const MOST_BYTES = MIB

type Kept = Delivery & { id: string; at: number }

/**
 * The newest deliveries with a refused signature, unchanged, so that another secret can be tried. Only in
 * memory, because they contain credentials of senders.
 */
export function createRefusedDeliveries(verify: Verify, deps: VerifierDeps) {
  const { gateway, now } = deps
  let kept: Kept[] = []
  const isKept = ({ at }: Kept) => at > now() - KEPT

  return {
    /** Returns the id for the trial; undefined if it is too large, or the scheme has no secret. */
    keep(delivery: Delivery): string | undefined {
      if (!hasSecret(verify) || delivery.raw.length > MOST_BYTES) return undefined
      const id = randomUUID()
      const rest = kept.filter(isKept).slice(0, MOST - 1)
      let room = MOST_BYTES - delivery.raw.length
      const fitting = rest.filter(({ raw }) => {
        room -= raw.length
        return room >= 0
      })
      // Copied, because a slice would keep the whole larger buffer.
      kept = [{ ...delivery, raw: Buffer.from(delivery.raw), id, at: now() }, ...fitting]
      return id
    },
    /**
     * Checks kept deliveries with another secret. Accepts nothing, and does not keep the secret. Throws
     * `refused_gone`, `usage`.
     */
    async try({ id, secret }: { id?: string | undefined; secret: string }): Promise<RefusedTry> {
      if (!hasSecret(verify)) {
        const details = `gateway ${gateway} has verify: { scheme: ${verify.scheme} }, which uses no secret`
        throw new TriviumError('usage', { details })
      }
      const here = kept.filter(isKept)
      const [wanted] = id === undefined ? here : here.filter((one) => one.id === id)
      if (!wanted) throw new TriviumError('refused_gone', { gateway })
      const reasons = await Promise.all(here.map((one) => checkWith(one, secret)))
      const reason = await checkWith(wanted, secret)
      return {
        ok: reason === undefined,
        ...(reason !== undefined && { reason }),
        at: wanted.at,
        fits: reasons.filter((one) => one === undefined).length,
        tried: here.length,
      }
    },
  }

  /** At the time of arrival, because signatures contain a time. */
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

function hasSecret(verify: Verify): verify is Extract<Verify, { secret: string[] }> {
  return 'secret' in verify && Array.isArray(verify.secret)
}
