import { hash } from 'node:crypto'
import type { Approval } from '../../core/approval.ts'
import { approvalSettings } from '../../core/approval-settings.ts'
import { renderTitle, titleFault } from '../../core/approval-title.ts'
import type { Call } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { compileMember, isOperator } from '../../core/identity.ts'
import { toJson } from '../../core/json.ts'
import { defineMiddleware, type Middleware, type SkillContext, skillJsonSchema } from '../../core/skill.ts'
import { defined } from '../../lib/defined.ts'
import { headOf } from '../../lib/head-of.ts'
import { parseSettings } from '../onion.ts'
import { slimArgs } from '../session/session-entries.ts'

const DAY = 86_400_000

/**
 * Runs the skill only after someone approved exactly these arguments in this outermost invocation. A
 * dispatched invocation ends with `approval_pending` and is dispatched again after the decision. Other
 * callers wait; disconnecting cancels their request.
 */
export function createApprovalMiddleware(
  ask: (approval: Approval, ctx: SkillContext) => Promise<void> = async () => {},
): Middleware {
  return defineMiddleware({
    name: 'approval',
    order: 200,
    description: 'Runs the skill only after an approval',
    setup(settings, skill) {
      if (settings === false) return (_ctx, next) => next()
      const given = parseSettings(approvalSettings, settings === true ? {} : settings)
      const { title, approvers = [], timeout = DAY, 'on-timeout': onTimeout = 'deny' } = given
      const fault = title === undefined ? undefined : titleFault(title, () => skillJsonSchema(skill))
      if (fault !== undefined) throw new Error(`title: ${fault}`)
      for (const member of approvers) compileMember(member)
      return async (ctx, next) => {
        const { message, call } = ctx
        const asked = await ctx.services.approvals.request({
          key: requestKey(ctx),
          skill: skill.name,
          args: toJson(ctx.args),
          by: whoAsks(ctx),
          title: call.guard?.again
            ? askAgain(skill.name)
            : title === undefined
              ? `Run ${skill.name}: ${skill.description}`
              : renderTitle(title, ctx.args),
          approvers,
          timeout,
          onTimeout,
          trace: call.trace,
          ...(message ? { message: briefOf(message) } : {}),
          ...defined({ route: call.route, roles: rolesOf(call) }),
        })
        if (asked.status === 'pending') await ask(asked, ctx)
        const decided = asked.status === 'pending' ? await decision(asked, ctx) : asked
        if (decided.status === 'approved') {
          await call.guard?.begins()
          return next()
        }
        const denied = new TriviumError('approval_denied', { name: skill.name, reason: reasonFor(decided) })
        // The author of the message is informed. A denial is an outcome, not a failure that becomes a dead
        // letter.
        if (message && call.depth === 0) return { text: denied.message }
        throw denied
      }
    },
  })
}

async function decision(asked: Approval, ctx: SkillContext): Promise<Approval> {
  const pending = new TriviumError('approval_pending', { name: asked.skill, id: asked.id })
  if (ctx.message) throw pending
  const over = new AbortController()
  askCaller(asked, ctx, over.signal)
  try {
    const decided = await ctx.services.approvals.wait(asked.id, asked.timeout, ctx.signal)
    if (decided) return decided
  } catch (error) {
    // A schedule or subscription is repeated after a drain, under the same id.
    if (/^(cli|http|mcp)$/.test(ctx.call.caller.kind)) await withdraw(asked, ctx)
    throw error
  } finally {
    over.abort()
  }
  throw pending
}

/** Maximum characters of the arguments in a question. */
const LONGEST_ARGS = 4_000

/** The caller may decide immediately, if the client can ask and they are allowed to. Others may be faster. */
function askCaller({ id, title, args }: Approval, { call, services, log }: SkillContext, over: AbortSignal) {
  const { asks, caller } = call
  if (!asks || !isOperator(caller)) return
  const question = `${title}\n\n${headOf(JSON.stringify(args, null, 2), LONGEST_ARGS)}`
  const decide = async () => {
    const answer = await asks({ question, options: ['approve', 'deny'] }, over)
    if (!over.aborted) await services.approvals.decide({ id, approve: answer === 'approve' }, { caller })
  }
  decide().catch((err: unknown) => log.debug({ err, approval: id }, 'the caller did not decide'))
}

/** Someone else decided at the same moment; that decision counts. */
async function withdraw({ id, by }: Approval, { services, log }: SkillContext): Promise<void> {
  const denial = { id, approve: false, reason: 'the requester disconnected' }
  await services.approvals.decide(denial, { caller: { kind: 'code', id: by } }).catch((err: unknown) => {
    log.debug({ err, approval: id }, 'an approval request could not be withdrawn')
  })
}

/** The question about a model's tool that was interrupted. */
const askAgain = (name: string) =>
  `Run ${name} again? It was interrupted, and its outcome is unknown. Check whether it ran before you approve.`

function requestKey(ctx: SkillContext): string {
  const { rootId, skill, guard } = ctx.call
  const key = `${rootId}:${skill}:${hash('sha256', JSON.stringify(slimArgs(ctx))).slice(0, 32)}`
  return guard?.again ? `${key}:${guard.again}` : key
}

/** The author of the message, if the transport can prove it; otherwise the caller. */
function whoAsks({ message, call: { caller } }: SkillContext): string {
  const { id, kind } = caller
  if (!message) return kind === 'route' && id ? id : [kind, id].filter(Boolean).join(' ')
  const { name, address, id: given } = message.from
  const said = [name, address ?? given].filter(Boolean).join(' ').replaceAll(/\s+/g, ' ').slice(0, 200)
  return id ?? `${said} (unverified)`
}

/** The roles of the requester, if any. */
function rolesOf({ caller: { roles } }: Call): string[] | undefined {
  return roles && roles.length > 0 ? [...roles] : undefined
}

function briefOf({ id, gateway, conversation, from }: NonNullable<SkillContext['message']>) {
  return { id, gateway, conversation, from: from.name ?? from.address ?? from.id }
}

function reasonFor({ status, decidedBy, reason }: Approval): string {
  if (status === 'expired') return 'it expired without a decision'
  return [decidedBy ? `${decidedBy} denied it` : 'it was denied', reason].filter(Boolean).join(': ')
}
