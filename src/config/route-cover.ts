import { isDeepStrictEqual } from 'node:util'
import { partsOfMatch, type RouteMatch } from '../core/match.ts'
import { compilePattern } from '../core/pattern.ts'
import type { Route } from '../core/route.ts'

/** Stands for any text when a glob is matched against another: a private-use character. */
const ANY_TEXT = '\uE000'
/** A glob of literal characters and `*` only. */
const LITERALS_AND_STARS = /^[^/\\?[{][^\\?[{]*$/

/**
 * Finds the first earlier route that certainly matches everything a route matches; undefined in
 * doubt. `transportOf`: the transport of a gateway by name.
 */
export function findCover(
  route: Route,
  earlier: readonly Route[],
  transportOf: (gateway: string) => string | undefined,
): Route | undefined {
  const { transport, gateway } = partsOfMatch(route.match).keys
  const transports = Array.isArray(gateway) ? gateway.map(transportOf) : []
  // A match on gateways implies their transports.
  const isImplied = transport === undefined && transports.length > 0 && !transports.includes(undefined)
  const inner = isImplied ? { ...route.match, transport: transports } : route.match
  return earlier.find((outer) => covers(outer.match, inner))
}

/** Whether `outer` certainly matches everything that `inner` matches. */
function covers(outer: RouteMatch, inner: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(outer).every(([key, wide]) => {
    const narrow = inner[key]
    if (key === 'not') return isDeepStrictEqual(wide, narrow)
    if (!Array.isArray(wide) || !Array.isArray(narrow)) return narrow === wide
    return narrow.every((value) => wide.some((each) => valueCovers(key, String(each), String(value))))
  })
}

/** Whether the value `wide` of a match key certainly matches everything that `narrow` matches. */
function valueCovers(key: string, wide: string, narrow: string): boolean {
  if (wide === narrow) return true
  if (key === 'prefix') return wide.trim().toLowerCase() === narrow.trim().toLowerCase()
  if (/^\*+$/.test(wide)) return true
  if (!LITERALS_AND_STARS.test(narrow) || (narrow.includes('*') && !LITERALS_AND_STARS.test(wide)))
    return false
  // The stars of the inner glob are replaced by a character that only a star matches.
  return compilePattern(wide).test(narrow.replaceAll('*', ANY_TEXT))
}
