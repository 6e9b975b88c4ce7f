import { partsOf } from '../../core/identity.ts'
import type { Store } from '../../core/store.ts'
import { addCount } from '../../lib/name-counts.ts'
import { everywhere, isNarrow } from '../../lib/person-identity.ts'
import { createIdentities } from './person.ts'

/**
 * The messages of the same addresses on gateways that the identities leave out. `identities`: with
 * those that cover every gateway; `gateways`: the number of messages on each of the others. `done`:
 * whether all were counted.
 */
export type Elsewhere = { identities: string[]; gateways: Record<string, number>; done: boolean }

const PAGE_SIZE = 500
/** How long (ms) messages are counted. */
const SEARCH_TIME = 5_000

/** Counts these messages; empty if no identity is an address on one gateway. */
export async function elsewhereOf(
  { search }: Pick<Store['journal'], 'search'>,
  identities: readonly string[],
  isCaseless: (gateway: string) => boolean,
  signal: AbortSignal,
): Promise<{ elsewhere?: Elsewhere }> {
  const narrow = identities.filter(isNarrow)
  if (narrow.length === 0) return {}
  const given = createIdentities(identities, isCaseless)
  const wide = createIdentities(narrow.map(everywhere), isCaseless)
  const names = new Set(narrow.map((identity) => partsOf(identity).name.toLowerCase()))
  const deadline = performance.now() + SEARCH_TIME
  const gateways: Record<string, number> = {}
  let done = true
  for (const sender of names) {
    let before: string | undefined
    do {
      signal.throwIfAborted()
      const page = await search({ sender, before, limit: PAGE_SIZE })
      for (const { message } of page.found)
        if (wide.isSender(message) && !given.isSender(message)) addCount(gateways, message.gateway)
      before = page.next
      if (before !== undefined && performance.now() > deadline) done = false
    } while (before !== undefined && done)
  }
  return { elsewhere: { identities: [...new Set(identities.map(everywhere))], gateways, done } }
}
