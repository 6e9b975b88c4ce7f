import { TriviumError } from '../../core/errors.ts'
import { partsOf, RESERVED_PREFIXES } from '../../core/identity.ts'
import type { Store } from '../../core/store.ts'
import { didYouMean } from '../../lib/nearest.ts'
import { ANY_GATEWAY } from './person.ts'

/** Throws `not_found` for the first identity whose gateway does not exist. */
export type RequireGateways = (identities: readonly string[], signal: AbortSignal) => Promise<void>

type Deps = {
  journal: Pick<Store['journal'], 'search'>
  /** The names of the gateways in routes.yaml. */
  gateways(): readonly string[]
  /** Whether something other than a message names the identity with its gateway. */
  isKept?(identity: string, signal: AbortSignal): Promise<boolean>
}

/**
 * Checks the gateways of identities. Those that were removed from routes.yaml count while messages of
 * them are stored, or, with `isKept`, other data of the identity.
 */
export function createRequireGateways({ journal, gateways, isKept }: Deps): RequireGateways {
  const hasMessages = async (gateway: string, signal: AbortSignal) => {
    let before: string | undefined
    do {
      signal.throwIfAborted()
      const page = await journal.search({ gateways: [gateway], before, limit: 1, isPartial: true })
      // An incomplete search proves nothing.
      if (page.found.length > 0 || page.away !== undefined) return true
      before = page.next
    } while (before !== undefined)
    return false
  }
  return async (identities, signal) => {
    const known = new Set([ANY_GATEWAY, ...RESERVED_PREFIXES, ...gateways()])
    for (const identity of identities) {
      const { gateway } = partsOf(identity)
      if (known.has(gateway) || (await hasMessages(gateway, signal))) continue
      if (await isKept?.(identity, signal)) continue
      throw new TriviumError('not_found', {
        path: `gateway ${gateway}`,
        hint: didYouMean(gateway, gateways()),
      })
    }
  }
}
