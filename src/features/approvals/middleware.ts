import { hash } from 'node:crypto'
import type { Approval } from '../../core/approval.ts'
import { renderTitle, titleFault } from '../../core/approval-title.ts'
import { SYSTEM } from '../../core/audit.ts'
import { shownAuthor } from '../../core/author.ts'
import { type Call, willResume } from '../../core/call.ts'
import { TriviumError, toTriviumError } from '../../core/errors.ts'
import { compileMember, isOperator } from '../../core/identity.ts'
import { toJson } from '../../core/json.ts'
import { type BuiltInLayer, defineBuiltInLayer } from '../../core/layers.ts'
import { skillPaused } from '../../core/paused-skill.ts'
import { type SkillContext, skillJsonSchema } from '../../core/skill.ts'
import { DAY } from '../../core/units.ts'
import { defined } from '../../lib/defined.ts'
import { headOf } from '../../lib/head-of.ts'
import { senderIdentity } from '../../lib/person-identity.ts'
import { parseSettings } from '../../runtime/parse-settings.ts'
import { slimArgs } from '../../runtime/session/session-entries.ts'
import { approvalSettings } from './schema.ts'

/**
 * Runs the skill only after someone approved its arguments. An approval counts only for exactly
 * these arguments, within the outermost invocation for which it was requested.
 * A dispatched invocation ends with `approval_pending` and is dispatched again after the decision.
 * Other callers wait; disconnecting cancels their request. `notifyApprovers` is called for each
 * pending request. `pauseOf`: the pause of a skill.
 */
export function createApprovalMiddleware(
  notifyApprovers: (approval: Approval, ctx: SkillContext) => Promise<void> = async () => {},
  pauseOf: (skill: string) => { name: string; by: string; reason?: string } | undefined = () => undefined,
): BuiltInLayer {
  return defineBuiltInLayer({
    name: 'approval',
    order: 200,
    description: 'Runs the skill only after an approval',
    setup(settings, skill) {
      if (settings === false) return (_ctx, next) => next()
      const parsed = parseSettings(approvalSettings, settings === true ? {} : settings)
      const { title, approvers = [], timeout = DAY, 'on-timeout': onTimeout = 'deny' } = parsed
      const fault = title === undefined ? undefined : titleFault(title, () => skillJsonSchema(skill))
      if (fault !== undefined) throw new Error(`title: ${fault}`)
      // Throws for an invalid member.
      for (const member of approvers) compileMember(member)
      const titleFor = ({ call, args }: SkillContext): string => {
        if (call.guard?.rerunKey) return rerunTitle(skill.name)
        return title === undefined ? `Run ${skill.name}: ${skill.description}` : renderTitle(title, args)
      }
      return async (ctx, next) => {
        const { message, call } = ctx
        const requested = await ctx.services.approvals.request({
          key: requestKey(ctx),
          skill: skill.name,
          args: toJson(ctx.args),
          by: requesterOf(ctx),
          title: titleFor(ctx),
          approvers,
          timeout,
          onTimeout,
          trace: call.trace,
          ...(message ? { message: briefOf(message) } : {}),
          ...defined({ route: call.route, roles: rolesOf(call), calledBy: call.by }),
          reasonGoesTo: denialTarget(ctx),
        })
        const isPending = requested.status === 'pending'
        if (isPending) await notifyApprovers(requested, ctx)
        const decided = isPending ? await awaitDecision(requested, ctx) : requested
        if (decided.status === 'approved') {
          // It may have been paused while the caller waited for the decision.
          const pause = isPending ? pauseOf(skill.name) : undefined
          if (pause) throw skillPaused(pause, call.by)
          await call.guard?.onStart()
          return recorded(requested.id, ctx, next)
        }
        const denied = new TriviumError('approval_denied', { name: skill.name, reason: reasonFor(decided) })
        // The author of the message gets a reply: a denial is an outcome. The error would make the
        // message a dead letter.
        if (denialTarget(ctx) === 'sender') return { text: denied.message }
        throw denied
      }
    },
  })
}

/** Who gets a denial: a skill that called this one gets it as an error, also with a message. */
function denialTarget({ message, call }: SkillContext): NonNullable<Approval['reasonGoesTo']> {
  if (call.depth > 0) return 'skill'
  return message ? 'sender' : 'caller'
}

/** Maximum characters of a result or error that an approval keeps. */
const MAX_RESULT = 2_000

/**
 * Runs the approved skill. Stores with the approval how the run ended, unless the run will be
 * resumed.
 */
async function recorded(id: string, ctx: SkillContext, next: () => Promise<unknown>): Promise<unknown> {
  const { services, log, call } = ctx
  const began = Date.now()
  const record = async (end: { result?: string; error?: string; code?: string }) => {
    const at = Date.now()
    await services.approvals
      .ran(id, { at, ms: at - began, ...end })
      .catch((err: unknown) => log.warn({ err, approval: id }, 'the end of an approved run was not stored'))
  }
  try {
    const result = await next()
    await record(defined({ result: resultText(result) }))
    return result
  } catch (error) {
    if (!willResume(error, call)) {
      const { code, message } = toTriviumError(error)
      await record({ code, error: headOf(message, MAX_RESULT) })
    }
    throw error
  }
}

function resultText(result: unknown): string | undefined {
  if (result === undefined || result === null) return undefined
  return headOf(typeof result === 'string' ? result : (JSON.stringify(result) ?? ''), MAX_RESULT)
}

/**
 * Resolves with the decided request. Throws `approval_pending` for a dispatched call, and if the
 * request is still pending at its timeout.
 */
async function awaitDecision(request: Approval, ctx: SkillContext): Promise<Approval> {
  const pending = new TriviumError('approval_pending', { name: request.skill, id: request.id })
  if (ctx.message) throw pending
  const waiting = new AbortController()
  letCallerDecide(request, ctx, waiting.signal)
  try {
    const decided = await ctx.services.approvals.wait(request.id, request.timeout, ctx.signal)
    if (decided) return decided
  } catch (error) {
    // Runs of a schedule or a subscription are repeated after a drain, with the same request.
    if (/^(cli|http|mcp)$/.test(ctx.call.caller.kind)) await withdraw(request, ctx)
    throw error
  } finally {
    waiting.abort()
  }
  throw pending
}

/** Maximum characters of the arguments in a question. */
const MAX_ARGS = 4_000

/**
 * Asks the caller for the decision, if their client supports questions and they may decide.
 * `waiting` aborts when the request is decided, possibly by someone else.
 */
function letCallerDecide(
  { id, title, args }: Approval,
  { call, services, log }: SkillContext,
  waiting: AbortSignal,
): void {
  const { askUser, caller } = call
  if (!askUser || !isOperator(caller)) return
  const question = `${title}\n\n${headOf(JSON.stringify(args, null, 2), MAX_ARGS)}`
  const decide = async () => {
    const answer = await askUser({ question, options: ['approve', 'deny'] }, waiting)
    if (!waiting.aborted) await services.approvals.decide({ id, approve: answer === 'approve' }, { caller })
  }
  decide().catch((err: unknown) => log.debug({ err, approval: id }, 'the caller did not decide'))
}

/** Denies a request whose requester disconnected. */
async function withdraw({ id }: Approval, { services, log }: SkillContext): Promise<void> {
  const denial = { id, approve: false, reason: 'the requester disconnected' }
  await services.approvals.decide(denial, { caller: { kind: 'code', id: SYSTEM } }).catch((err: unknown) => {
    // For example because someone decided at the same moment; that decision counts.
    log.debug({ err, approval: id }, 'an approval request could not be withdrawn')
  })
}

/** The title for a model's tool call that was interrupted. */
const rerunTitle = (name: string) =>
  `Run ${name} again? It was interrupted, and its outcome is unknown. Check whether it ran before you approve.`

function requestKey(ctx: SkillContext): string {
  const { rootId, skill, guard } = ctx.call
  const key = `${rootId}:${skill}:${hash('sha256', JSON.stringify(slimArgs(ctx))).slice(0, 32)}`
  return guard?.rerunKey ? `${key}:${guard.rerunKey}` : key
}

/** Maximum characters of the name of an unverified sender. */
const MAX_NAME = 200

/** The author of the message, marked if they are unverified. Without a message, the caller. */
function requesterOf({ message, call: { caller } }: SkillContext): string {
  const { id, kind } = caller
  if (!message) return kind === 'route' && id ? id : [kind, id].filter(Boolean).join(' ')
  if (id !== undefined) return id
  const { name, address, id: senderId } = message.from
  const claimed = [name, address ?? senderId].filter(Boolean).join(' ').replaceAll(/\s+/g, ' ')
  return `${claimed.slice(0, MAX_NAME)} (unverified)`
}

/** The roles of the requester, if any. */
function rolesOf({ caller: { roles } }: Call): string[] | undefined {
  return roles && roles.length > 0 ? [...roles] : undefined
}

function briefOf({ id, gateway, conversation, from }: NonNullable<SkillContext['message']>) {
  const sender = senderIdentity({ gateway, from })
  return { id, gateway, conversation, from: from.name ?? from.address ?? from.id, sender }
}

function reasonFor({ status, decidedBy, reason }: Approval): string {
  if (status === 'expired') return 'it expired without a decision'
  return [decidedBy ? `${deniedBy(decidedBy)} denied it` : 'it was denied', reason].filter(Boolean).join(': ')
}

/** The decider, as the sender sees them. `control token` is not the name of a person. */
function deniedBy(by: string): string {
  const name = shownAuthor(by)
  return name === 'control token' ? 'an operator' : by
}
