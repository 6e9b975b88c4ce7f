import type { Call, Caller } from '../core/call.ts'
import type { SearchWords } from '../core/search-words.ts'
import type { Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { nearestNames } from '../lib/nearest.ts'

/**
 * A name in a search that nothing has. `near`: similar names, or all if there are few; the nearest
 * first.
 */
export type UnknownName = {
  key: 'gateway' | 'route' | 'transport' | 'conversation'
  name: string
  near: string[]
}

/**
 * The unknown names in a search without a result; undefined without any. `isWhole`: the search had no
 * other filters, and read all messages.
 */
export type UnknownIn = (
  search: SearchWords | undefined,
  caller: Pick<Caller, 'gateways'>,
  isWhole: boolean,
) => Promise<UnknownName[] | undefined>

type Deps = {
  journal: Pick<Store['journal'], 'search'>
  gateways(): readonly { name: string; transport: string }[]
  routes(): readonly { name: string }[]
}

const NAMED = ['gateway', 'transport', 'route'] as const
type Named = (typeof NAMED)[number]

/** Maximum number of messages whose conversations are suggested. */
const MOST_CONVERSATIONS = 20

/**
 * Finds the names in searches that no gateway, route or conversation has, and no message: messages
 * of a route or gateway outlive it. A caller with access to some gateways only gets names of these.
 */
export function createUnknownNames({ journal, gateways, routes }: Deps): UnknownIn {
  const conversationsLike = async (part: string, caller: Pick<Caller, 'gateways'>) => {
    const { found } = await journal.search({
      gateways: caller.gateways,
      conversationPart: part,
      limit: MOST_CONVERSATIONS,
      isPartial: true,
    })
    return [...new Set(found.map(({ message }) => message.conversation))]
  }

  /** Whether a message has the name of a former gateway, transport or route. */
  const isStored = async (key: Named, name: string, caller: Pick<Caller, 'gateways'>) => {
    const { gateways } = caller
    if (key === 'gateway' && gateways?.includes(name) === false) return false
    const named = key === 'gateway' ? { gateways: [name] } : { gateways, [key]: name }
    const { found, next, away } = await journal.search({ ...named, limit: 1, isPartial: true })
    // An incomplete search proves nothing.
    return found.length > 0 || next !== undefined || away !== undefined
  }

  return async (search, caller, isWhole) => {
    if (!search) return undefined
    const isAll = isWhole && isAlone(search)
    const visible = gateways().filter(({ name }) => caller.gateways?.includes(name) ?? true)
    const known = {
      gateway: visible.map(({ name }) => name),
      transport: [...new Set(visible.map(({ transport }) => transport))],
      route: caller.gateways === undefined ? routes().map(({ name }) => name) : undefined,
    }
    const unknown: UnknownName[] = []
    for (const key of NAMED) {
      const [name, names] = [search[key], known[key]]
      if (name === undefined || names === undefined || names.includes(name)) continue
      if (!isAll && (await isStored(key, name, caller))) continue
      unknown.push({ key, name, near: nearestNames(name, names) })
    }
    const { conversation: name } = search
    if (name !== undefined && isAll) {
      const near = (await conversationsLike(name, caller)).slice(0, MOST_NAMED)
      unknown.push({ key: 'conversation', name, near })
    }
    return unknown.length === 0 ? undefined : unknown
  }
}

/**
 * Whether a page, the first one of a search, has read all messages: without other filters, up to the
 * end, and on all shards.
 */
export function isWholeSearch(filter: object, { next, away }: { next?: unknown; away?: unknown }): boolean {
  const others = Object.entries(filter).filter(([key, value]) => key !== 'search' && value !== undefined)
  return others.length === 0 && next === undefined && away === undefined
}

/** `conversation-list` that names what is unknown in a search without a result. */
export function withUnknownNames<
  Args extends { search?: SearchWords; before?: string; limit: number },
  Page extends { conversations: readonly unknown[]; next?: unknown; away?: unknown },
>(list: (args: Args, call: Pick<Call, 'caller'>) => Promise<Page>, unknownIn: UnknownIn) {
  return async (args: Args, call: Pick<Call, 'caller'>): Promise<Page & { unknown?: UnknownName[] }> => {
    const page = await list(args, call)
    if (page.conversations.length > 0 || args.before !== undefined) return page
    const { limit: _, before: __, ...filter } = args
    const unknown = await unknownIn(args.search, call.caller, isWholeSearch(filter, page))
    return { ...page, ...defined({ unknown }) }
  }
}

/** Maximum number of conversations that are suggested. */
const MOST_NAMED = 3

/** Whether a search only names one thing: with more conditions, the others may exclude it. */
function isAlone({ words, ...names }: SearchWords): boolean {
  return words.length === 0 && Object.keys(names).length === 1
}
