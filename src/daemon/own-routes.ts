import type { Config } from '../config/load-config.ts'
import { CLICK_ROUTE } from '../features/approvals/click.ts'
import { WORDS_ROUTE } from '../features/approvals/words.ts'
import { HANDOVER_ROUTE } from '../features/pauses/click.ts'

/** Adds the built-in routes: those of buttons first, that of approval decisions in words last. */
export function withOwnRoutes({ routes }: Pick<Config, 'routes'>) {
  return [CLICK_ROUTE, HANDOVER_ROUTE, ...routes, WORDS_ROUTE]
}
