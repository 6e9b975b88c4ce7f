import { compilePattern, type Pattern } from '../core/pattern.ts'
import type { Route, RouteMatch } from '../core/route.ts'

/** Tells what is inside what. Made once per check, since it keeps the compiled patterns. */
export type Coverage = {
  /**
   * The first of the earlier routes that matches everything that `route` matches, so that it can never run.
   * Finds what one earlier route covers alone: all of its keys are there, and each value is inside one of
   * its values. It errs on the side of silence.
   */
  coveringRoute(route: Route, earlier: readonly Route[]): Route | undefined
  /** True where everything that `narrow` matches under this key is matched by `wide` too. */
  valueCovers(key: string, wide: string, narrow: string): boolean
}

/** Stands for "any text" in a pattern that is itself matched; private use, so no pattern holds it. */
const ANY_TEXT = '\uE000'
/** Longer lists are compared as a whole only where they are equal; the rest would take long and tell little. */
const MAX_COMPARED = 50

/** `transportOf` tells the transport of a gateway, by name. */
export function createCoverage(transportOf: (gateway: string) => string | undefined): Coverage {
  const compiled = new Map<string, Pattern>()
  const compile = (source: string): Pattern => {
    const pattern = compiled.get(source) ?? compilePattern(source)
    compiled.set(source, pattern)
    return pattern
  }

  const valueCovers: Coverage['valueCovers'] = (key, wide, narrow) => {
    if (wide === narrow) return true
    if (key === 'prefix') return wide.trim().toLowerCase() === narrow.trim().toLowerCase()
    const outer = compile(wide)
    const inner = compile(narrow)
    if (outer.kind === 'any') return true
    if (inner.kind === 'literal') return outer.test(narrow.replaceAll(/\\(.)/gs, '$1'))
    // What only a star can take stands for what the inner stars can be.
    return inner.kind === 'stars' && outer.kind === 'stars' && outer.test(starsAsText(narrow))
  }

  const covers = (outer: RouteMatch, inner: RouteMatch): boolean =>
    Object.entries(outer).every(([key, wide]) => {
      const narrow = inner[sameKey(inner, key)]
      if (typeof wide === 'boolean') return narrow === wide
      if (typeof narrow === 'boolean' || narrow === undefined) return false
      if (narrow.length > MAX_COMPARED || wide.length > MAX_COMPARED)
        return narrow.join('\0') === wide.join('\0')
      return narrow.every((value) => wide.some((each) => valueCovers(key, each, value)))
    })

  /** What a match on gateways says about transports without writing it. */
  const withTransport = (match: RouteMatch): RouteMatch => {
    if (match.transport !== undefined || !Array.isArray(match.gateway)) return match
    const transports = match.gateway.map((name: string) => transportOf(name))
    const known = transports.filter((kind) => kind !== undefined)
    return known.length === transports.length ? { ...match, transport: known } : match
  }

  return {
    valueCovers,
    coveringRoute(route, earlier) {
      const inner = withTransport(route.match)
      return earlier.find((outer) => covers(outer.match, inner))
    },
  }
}

function sameKey(match: RouteMatch, key: string): string {
  if (!key.startsWith('header.')) return key
  return Object.keys(match).find((each) => each.toLowerCase() === key.toLowerCase()) ?? key
}

function starsAsText(source: string): string {
  return source.replaceAll(/\\(.)|\*/gs, (_, char: string | undefined) => char ?? ANY_TEXT)
}
