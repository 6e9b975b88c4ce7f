import type { Config } from '../config/load-config.ts'
import { CLICK_ROUTE } from '../features/approvals/approvals.ts'
import { WORDS_ROUTE } from '../features/approvals/words.ts'

/** Adds routes for our buttons (first) and for decisions in words (last). */
export function withOwnRoutes({ routes }: Pick<Config, 'routes'>) {
  return [CLICK_ROUTE, ...routes, WORDS_ROUTE]
}

/** Whether a route is built in. */
export function isOwnRoute(name: string): boolean {
  return name === CLICK_ROUTE.name || name === WORDS_ROUTE.name
}
