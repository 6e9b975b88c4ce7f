import type { Store } from '../core/store.ts'
import { shownIn } from '../lib/people-in.ts'
import { comparable, everywhere, partsOf, personOf, type Sent } from '../lib/person-identity.ts'

/** Number of messages per read, and how many of the newest are read for names. */
const PAGE = 500
const MAX_MESSAGES = 2_000
/** How long (ms) the names that were read are reused. A name that was erased is gone after this time. */
const FRESH_TIME = 30_000

/** The newest name of a person on each gateway, newest first. */
type Names = Map<string, { gateway: string; name: string }[]>

export type KnownNames = ReturnType<typeof createKnownNames>

/**
 * Names of addresses that have none in some messages, from the newest messages on other gateways: a
 * chat may only know the address of somebody who also writes mail. The messages are read at most
 * every half minute, and only if a name is missing.
 */
export function createKnownNames(
  { search }: Pick<Store['journal'], 'search'>,
  now: () => number = () => performance.now(),
) {
  let known: { at: number; names: Promise<Names> } | undefined
  const read = (): Promise<Names> => {
    if (known && now() - known.at < FRESH_TIME) return known.names
    const reading = { at: now(), names: readNames(search) }
    known = reading
    reading.names.catch(() => {
      if (known === reading) known = undefined
    })
    return reading.names
  }
  /** The name of an identity on the `gateways` that the caller may read; undefined for all. */
  const nameIn = (names: Names, identity: string, gateways: readonly string[] | undefined) =>
    names
      .get(comparable(everywhere(identity)))
      ?.find(({ gateway }) => gateways === undefined || gateways.includes(gateway))?.name

  return {
    /** The name of each sender, where it is missing and known. */
    async ofSenders(rows: readonly Sent[], gateways?: readonly string[]): Promise<(string | undefined)[]> {
      if (!rows.some(isNameless)) return rows.map(() => undefined)
      const names = await read()
      return rows.map((row) => (isNameless(row) ? nameIn(names, personOf(row), gateways) : undefined))
    },
    /** The name of one identity, such as `chat:ada@example.com`. */
    async of(identity: string, gateways?: readonly string[]): Promise<string | undefined> {
      return isAddress(identity) ? nameIn(await read(), identity, gateways) : undefined
    },
  }
}

/** Only an address is the same person on another gateway. */
function isAddress(identity: string): boolean {
  const { name, isExternal } = partsOf(identity)
  return name.includes('@') && !isExternal
}

function isNameless(row: Sent): boolean {
  return shownIn(row.from) === undefined && isAddress(personOf(row))
}

async function readNames(search: Store['journal']['search']): Promise<Names> {
  const names: Names = new Map()
  let before: string | undefined
  for (let read = 0; read < MAX_MESSAGES; read += PAGE) {
    const page = await search({ before, limit: PAGE, isPartial: true })
    for (const { message } of page.found) {
      const [who, name] = [comparable(personOf(message)), shownIn(message.from)]
      if (name === undefined || !isAddress(who)) continue
      const of = names.get(who) ?? []
      if (!of.some(({ gateway }) => gateway === message.gateway)) of.push({ gateway: message.gateway, name })
      names.set(who, of)
    }
    before = page.next
    if (before === undefined) break
  }
  return names
}
