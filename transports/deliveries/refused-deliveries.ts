import { randomUUID } from 'node:crypto'
import { reasonOf, TriviumError } from '../../src/core/errors.ts'
import type { RefusedTry } from '../../src/core/transport.ts'
import { MIB } from '../../src/core/units.ts'
import { createVerifier } from './verifier.ts'
import type { Delivery, VerifierDeps } from './verifier-types.ts'
import type { Verify } from './verify.ts'

/** Refused deliveries of a gateway that are kept, for how long (ms), and their bytes altogether. */
const MOST = 20
const KEPT = 3_600_000
const MOST_BYTES = MIB

type Kept = Delivery & { id: string; at: number }

/**
 * The newest deliveries that were refused for their signature, as they came, so that another secret can be tried on them. In memory
 * only: they carry what senders prove themselves with.
 */
export function createRefusedDeliveries(verify: Verify, deps: VerifierDeps) {
  const { gateway, now } = deps
  let kept: Kept[] = []
  const isKept = ({ at }: Kept) => at > now() - KEPT

  return {
    /** Returns the id by which it can be tried; undefined where it is too large, or no secret is looked at. */
    keep(delivery: Delivery): string | undefined {
      if (!hasSecret(verify) || delivery.raw.length > MOST_BYTES) return undefined
      const id = randomUUID()
      const rest = kept.filter(isKept).slice(0, MOST - 1)
      let room = MOST_BYTES - delivery.raw.length
      const fitting = rest.filter(({ raw }) => {
        room -= raw.length
        return room >= 0
      })
      // Copied: a slice of a larger buffer would keep all of it.
      kept = [{ ...delivery, raw: Buffer.from(delivery.raw), id, at: now() }, ...fitting]
      return id
    },
    /** Checks kept deliveries with another secret. Nothing is accepted, and the secret is not kept. Throws `refused_gone`, `usage`. */
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

  /** As at the moment at which it came: signatures have a time. */
  async function checkWith(delivery: Kept, secret: string): Promise<string | undefined> {
    if (!hasSecret(verify)) return 'it is not checked by a secret'
    try {
      const verifier = createVerifier({ ...verify, secret: [secret] }, { ...deps, now: () => delivery.at })
      return await verifier.check(delivery)
    } catch (error) {
      return `this is no secret as the provider shows it: ${reasonOf(error).replaceAll(secret, '[secret]')}`
    }
  }
}

function hasSecret(verify: Verify): verify is Extract<Verify, { secret: string[] }> {
  return 'secret' in verify && Array.isArray(verify.secret)
}
