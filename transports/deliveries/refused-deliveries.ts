import { reasonOf, TriviumError } from '../../src/core/errors.ts'
import type { KeptFits, RefusedTry } from '../../src/core/transport.ts'
import { defined } from '../../src/lib/defined.ts'
import { withoutSecrets } from '../../src/lib/secrets.ts'
import { hasSecret } from './checked-secret.ts'
import type { KeptDeliveries, KeptDelivery } from './kept-deliveries.ts'
import { createVerifier } from './verifier.ts'
import type { Delivery, VerifierDeps } from './verifier-types.ts'
import type { Verify } from './verify.ts'

/** The refused deliveries of a gateway, on which another secret can be tried. */
export function createRefusedDeliveries(verify: Verify, kept: KeptDeliveries, deps: VerifierDeps) {
  const { gateway } = deps

  return {
    /**
     * Returns the id for `try`. Undefined for a too large delivery or a scheme without a
     * secret.
     */
    keep: (delivery: Delivery) => (hasSecret(verify) ? kept.add(delivery) : undefined),
    /**
     * Checks the kept deliveries with another secret. Returns the result for the delivery `id`
     * (by default the newest), and how many of all deliveries the secret fits (`fits`). If it only
     * fits without the blanks around it, the result is that of the trimmed one. Accepts nothing,
     * and does not keep the secret. Throws `refused_gone`, `usage`.
     */
    async try({ id, secret }: { id?: string | undefined; secret: string }): Promise<RefusedTry> {
      if (!hasSecret(verify)) {
        const details = `gateway ${gateway} has verify: { scheme: ${verify.scheme} }, which uses no secret`
        throw new TriviumError('usage', { details })
      }
      const trimmed = secret.trim()
      if (trimmed === '') throw new TriviumError('usage', { details: 'the secret is empty' })
      const recent = kept.list()
      const chosen = id === undefined ? recent[0] : recent.find((delivery) => delivery.id === id)
      if (!chosen) throw new TriviumError('refused_gone', { gateway })
      const asGiven = await tryOn(chosen, recent, secret)
      const other = trimmed !== secret && asGiven.fits === 0 && (await tryOn(chosen, recent, trimmed))
      const isTrimmed = other && other.fits > 0
      const isInForce = verify.secret.includes(isTrimmed ? trimmed : secret)
      return {
        ...(isTrimmed ? { ...other, isTrimmed } : asGiven),
        ...(isInForce && { isInForce }),
      }
    },
    /** Checks the kept deliveries with the configured secrets. Undefined if there is nothing to check. */
    async recheck(): Promise<KeptFits | undefined> {
      const recent = kept.list()
      if (!hasSecret(verify) || recent.length === 0) return undefined
      return fitsOf(recent, verify.secret)
    },
  }

  async function tryOn(chosen: KeptDelivery, all: readonly KeptDelivery[], secret: string) {
    const reason = await checkWith(chosen, [secret])
    return {
      ok: reason === undefined,
      ...defined({ reason }),
      at: chosen.at,
      ...(await fitsOf(all, [secret])),
    }
  }

  async function fitsOf(deliveries: readonly KeptDelivery[], secrets: string[]): Promise<KeptFits> {
    const reasons = await Promise.all(deliveries.map((delivery) => checkWith(delivery, secrets)))
    return { fits: reasons.filter((each) => each === undefined).length, tried: deliveries.length }
  }

  /**
   * Checks a delivery as of its arrival, because signatures contain a time. Returns the fault.
   */
  async function checkWith(delivery: KeptDelivery, secret: string[]): Promise<string | undefined> {
    if (!hasSecret(verify)) return 'its check uses no secret'
    try {
      const verifier = createVerifier({ ...verify, secret }, { ...deps, now: () => delivery.at })
      return await verifier.check(delivery)
    } catch (error) {
      const reason = withoutSecrets(reasonOf(error), secret)
      return `this is not a secret in the form that the provider shows: ${reason}`
    }
  }
}
