import type { Approval } from '../../core/services.ts'
import type { Middleware, SkillContext } from '../../core/skill.ts'
import { type AccessRule, createAccessMiddleware } from './access.ts'
import { createApprovalMiddleware } from './approval.ts'
import { allowedToolsMiddleware, timeoutMiddleware } from './limits.ts'
import { sessionMiddleware } from './session.ts'

/**
 * The middleware that ships, outermost first: access, approval, timeout, session, allowed-tools. Time that an
 * approval takes does not count against the timeout. `halves`: see `compileMember`. `ask` tells people about a request for approval.
 */
export function createMiddleware(
  options: {
    access?: () => readonly AccessRule[]
    halves?: () => readonly string[]
    ask?: (approval: Approval, ctx: SkillContext) => Promise<void>
  } = {},
): Middleware[] {
  return [
    createAccessMiddleware(options.access, options.halves),
    createApprovalMiddleware(options.ask, options.halves),
    timeoutMiddleware,
    sessionMiddleware,
    allowedToolsMiddleware,
  ]
}
