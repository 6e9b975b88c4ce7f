import { compilePattern, type Pattern } from '../core/pattern.ts'
import type { Route, RouteMatch } from '../core/route.ts'

/** Stands for "any text" in a glob that is itself matched; private use, so no pattern holds it. */
const ANY_TEXT = '\uE000'
/** A glob of letters and `*` alone. */
const SIMPLE = /^[^/\\?[{][^\\?[{]*$/

/**
 * Made once per check, since it keeps the compiled patterns. Finds the first of the earlier routes that alone matches
 * everything that a route matches, so that this can never run: all of its keys are there, and each value is inside one
 * of its values. It errs on the side of silence.
 */
export function createFindCover(transportOf: (gateway: string) => string | undefined) {
  const compiled = new Map<string, Pattern>()
  const fits = (source: string, text: string): boolean => {
    const pattern = compiled.get(source) ?? compilePattern(source)
    compiled.set(source, pattern)
    return pattern.test(text)
  }

  const valueCovers = (key: string, wide: string, narrow: string): boolean => {
    if (wide === narrow) return true
    if (key === 'prefix') return wide.trim().toLowerCase() === narrow.trim().toLowerCase()
    if (/^\*+$/.test(wide)) return true
    if (!SIMPLE.test(narrow) || (narrow.includes('*') && !SIMPLE.test(wide))) return false
    // What only a star can take stands for what the inner stars can be.
    return fits(wide, narrow.replaceAll('*', ANY_TEXT))
  }

  const covers = (outer: RouteMatch, inner: RouteMatch): boolean =>
    Object.entries(outer).every(([key, wide]) => {
      const narrow = inner[key]
      if (typeof wide === 'boolean' || typeof narrow === 'boolean') return narrow === wide
      return narrow?.every((value) => wide.some((each) => valueCovers(key, each, value))) ?? false
    })

  return (route: Route, earlier: readonly Route[]): Route | undefined => {
    const { transport, gateway } = route.match
    const transports = Array.isArray(gateway) ? gateway.map(transportOf) : []
    // A match on gateways says their transports without writing them.
    const isImplied = transport === undefined && transports.length > 0
    const implied =
      isImplied && transports.every((each) => each !== undefined) ? { transport: transports } : {}
    return earlier.find((outer) => covers(outer.match, { ...route.match, ...implied }))
  }
}
