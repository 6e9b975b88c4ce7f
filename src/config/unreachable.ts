import { compilePattern } from '../core/pattern.ts'
import type { Route, RouteMatch } from '../core/route.ts'

/** Stands for "any text" in a glob that is itself matched; private use, so no pattern holds it. */
const ANY_TEXT = '\uE000'
/** A glob of letters and `*` alone. */
const SIMPLE = /^[^/\\?[{][^\\?[{]*$/

/**
 * Finds the first of the earlier routes that alone matches everything that a route matches, so that this can never run:
 * all of its keys are there, and each value is inside one of its values. It errs on the side of silence.
 */
export function findCover(
  route: Route,
  earlier: readonly Route[],
  transportOf: (gateway: string) => string | undefined,
): Route | undefined {
  const { transport, gateway } = route.match
  const transports = Array.isArray(gateway) ? gateway.map(transportOf) : []
  // A match on gateways says their transports without writing them.
  const isImplied = transport === undefined && transports.length > 0 && !transports.includes(undefined)
  const inner = isImplied ? { ...route.match, transport: transports } : route.match
  return earlier.find((outer) => covers(outer.match, inner))
}

function covers(outer: RouteMatch, inner: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(outer).every(([key, wide]) => {
    const narrow = inner[key]
    if (!Array.isArray(wide) || !Array.isArray(narrow)) return narrow === wide
    return narrow.every((value) => wide.some((each) => valueCovers(key, each, String(value))))
  })
}

function valueCovers(key: string, wide: string, narrow: string): boolean {
  if (wide === narrow) return true
  if (key === 'prefix') return wide.trim().toLowerCase() === narrow.trim().toLowerCase()
  if (/^\*+$/.test(wide)) return true
  if (!SIMPLE.test(narrow) || (narrow.includes('*') && !SIMPLE.test(wide))) return false
  // What only a star can take stands for what the inner stars can be.
  return compilePattern(wide).test(narrow.replaceAll('*', ANY_TEXT))
}
