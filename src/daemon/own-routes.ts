import type { Config } from '../config/load-config.ts'
import { CLICK_ROUTE } from '../features/approvals/approvals.ts'
import { WORDS_ROUTE } from '../features/approvals/words.ts'

/** Clicks on our buttons come first; a message that no other route takes may be a decision in words. */
export function withOwnRoutes({ routes }: Pick<Config, 'routes'>) {
  return [CLICK_ROUTE, ...routes, WORDS_ROUTE]
}

/** Whether a route is one of Trivium's own. */
export function isOwnRoute(name: string): boolean {
  return name === CLICK_ROUTE.name || name === WORDS_ROUTE.name
}
