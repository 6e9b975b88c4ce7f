import { hash } from 'node:crypto'
import { approvalSettings } from '../../core/approval-settings.ts'
import { renderTitle, titleFault } from '../../core/approval-title.ts'
import type { Call } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { compileMember, isOperator } from '../../core/identity.ts'
import { toJson } from '../../core/json.ts'
import type { Approval } from '../../core/services.ts'
import { defineMiddleware, type Middleware, type SkillContext, skillJsonSchema } from '../../core/skill.ts'
import { defined } from '../../lib/defined.ts'
import { headOf } from '../../lib/head-of.ts'
import { parseSettings } from '../onion.ts'
import { slimArgs } from '../session/sessions.ts'

const DAY = 86_400_000

/**
 * The skill runs only once somebody has approved exactly these arguments in this outermost invocation. A dispatched one ends with
 * `approval_pending`, and is dispatched again when the decision falls. Others wait in place, and take the request along when they go.
 */
export function createApprovalMiddleware(
  ask: (approval: Approval, ctx: SkillContext) => Promise<void> = async () => {},
): Middleware {
  return defineMiddleware({
    name: 'approval',
    order: 200,
    description: 'Runs the skill only after someone approved it',
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
        // Whoever wrote the message is told; a refusal is an outcome, not a failure to be kept as a dead letter.
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
    // A schedule or a subscription comes back after a drain, under the same id.
    if (/^(cli|http|mcp)$/.test(ctx.call.caller.kind)) await withdraw(asked, ctx)
    throw error
  } finally {
    over.abort()
  }
  throw pending
}

/** Characters of the arguments in a question. */
const LONGEST_ARGS = 4_000

/** Who calls may decide at once, where the client has a way to ask and they are allowed to. Others may be faster. */
function askCaller({ id, title, args }: Approval, { call, services, log }: SkillContext, over: AbortSignal) {
  const { asks, caller } = call
  if (!asks || !isOperator(caller)) return
  const question = `${title}\n\n${headOf(JSON.stringify(args, null, 2), LONGEST_ARGS)}`
  const decide = async () => {
    const answer = await asks({ question, options: ['approve', 'deny'] }, over)
    if (!over.aborted) await services.approvals.decide({ id, approve: answer === 'approve' }, { caller })
  }
  decide().catch((err: unknown) => log.debug({ err, approval: id }, 'who called did not decide'))
}

/** Decided by another at this very moment: then that stands, and nobody is there for it. */
async function withdraw({ id, by }: Approval, { services, log }: SkillContext): Promise<void> {
  const denial = { id, approve: false, reason: 'who asked went away' }
  await services.approvals.decide(denial, { caller: { kind: 'code', id: by } }).catch((err: unknown) => {
    log.debug({ err, approval: id }, 'a request for approval could not be withdrawn')
  })
}

/** What to decide about a tool of a model that was cut off. */
const askAgain = (name: string) =>
  `Run ${name} again? It was cut off while it ran, and nobody knows whether it happened: look before you approve.`

function requestKey(ctx: SkillContext): string {
  const { rootId, skill, guard } = ctx.call
  const key = `${rootId}:${skill}:${hash('sha256', JSON.stringify(slimArgs(ctx))).slice(0, 32)}`
  return guard?.again ? `${key}:${guard.again}` : key
}

/** Who wrote the message, where the transport can tell; else who called. */
function whoAsks({ message, call: { caller } }: SkillContext): string {
  const { id, kind } = caller
  if (!message) return kind === 'route' && id ? id : [kind, id].filter(Boolean).join(' ')
  const { name, address, id: given } = message.from
  const said = [name, address ?? given].filter(Boolean).join(' ').replaceAll(/\s+/g, ' ').slice(0, 200)
  return id ?? `${said} (unverified)`
}

/** The roles by which somebody asks, where there are any. */
function rolesOf({ caller: { roles } }: Call): string[] | undefined {
  return roles && roles.length > 0 ? [...roles] : undefined
}

function briefOf({ id, gateway, conversation, from }: NonNullable<SkillContext['message']>) {
  return { id, gateway, conversation, from: from.name ?? from.address ?? from.id }
}

function reasonFor({ status, decidedBy, reason }: Approval): string {
  if (status === 'expired') return 'nobody decided in time'
  return [decidedBy ? `${decidedBy} denied it` : 'it was denied', reason].filter(Boolean).join(': ')
}
