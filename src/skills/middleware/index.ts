import type { Approval } from '../../core/services.ts'
import type { Middleware, SkillContext } from '../../core/skill.ts'
import { type AccessRule, createAccessMiddleware } from './access.ts'
import { createApprovalMiddleware } from './approval.ts'
import { allowedToolsMiddleware, timeoutMiddleware } from './limits.ts'
import { sessionMiddleware } from './session.ts'

/** The middleware that ships, outermost first. `ask` tells people about a request for approval. */
export function createMiddleware(
  options: {
    access?: () => readonly AccessRule[]
    ask?: (approval: Approval, ctx: SkillContext) => Promise<void>
  } = {},
): Middleware[] {
  return [
    createAccessMiddleware(options.access),
    createApprovalMiddleware(options.ask),
    timeoutMiddleware,
    sessionMiddleware,
    allowedToolsMiddleware,
  ]
}
