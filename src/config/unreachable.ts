import { compilePattern } from '../core/pattern.ts'
import type { Route, RouteMatch } from '../core/route.ts'

/** Stands for "any text" in a pattern that is itself matched; private use, so no pattern holds it. */
const ANY_TEXT = '\uE000'

/**
 * The first of the earlier routes that matches everything that `route` matches, so that it can never run.
 * Finds what one earlier route covers alone: all of its keys are there, and each value is inside one of its
 * values. It errs on the side of silence. `transportOf` tells the transport of a gateway.
 */
export function coveringRoute(
  route: Pick<Route, 'match'>,
  earlier: readonly Route[],
  transportOf: (gateway: string) => string | undefined,
): Route | undefined {
  const inner = withTransport(route.match, transportOf)
  return earlier.find((outer) => covers(outer.match, inner))
}

function withTransport(match: RouteMatch, transportOf: (gateway: string) => string | undefined): RouteMatch {
  if (match.transport !== undefined || !Array.isArray(match.gateway)) return match
  const transports = match.gateway.map((name: string) => transportOf(name))
  const known = transports.filter((kind) => kind !== undefined)
  return known.length === transports.length ? { ...match, transport: known } : match
}

function covers(outer: RouteMatch, inner: RouteMatch): boolean {
  return Object.entries(outer).every(([key, wide]) => {
    const narrow = inner[sameKey(inner, key)]
    if (typeof wide === 'boolean') return narrow === wide
    if (typeof narrow === 'boolean' || narrow === undefined) return false
    return narrow.every((value) => wide.some((each) => valueCovers(key, each, value)))
  })
}

function sameKey(match: RouteMatch, key: string): string {
  if (!key.startsWith('header.')) return key
  return Object.keys(match).find((each) => each.toLowerCase() === key.toLowerCase()) ?? key
}

/** True where everything that the pattern `narrow` matches is matched by `wide` too. */
export function valueCovers(key: string, wide: string, narrow: string): boolean {
  if (wide === narrow) return true
  if (key === 'prefix') return wide.trim().toLowerCase() === narrow.trim().toLowerCase()
  const outer = compilePattern(wide)
  const inner = compilePattern(narrow)
  if (outer.kind === 'any') return true
  if (inner.kind === 'literal') return outer.test(narrow.replaceAll(/\\(.)/gs, '$1'))
  // What only a star can take stands for what the inner stars can be.
  return inner.kind === 'stars' && outer.kind === 'stars' && outer.test(starsAsText(narrow))
}

function starsAsText(source: string): string {
  return source.replaceAll(/\\(.)|\*/gs, (_, char: string | undefined) => char ?? ANY_TEXT)
}
