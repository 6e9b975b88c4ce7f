import type { Config } from '../../config/load-config.ts'
import { type Caller, requireGateway, willResume } from '../../core/call.ts'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import { isOperator } from '../../core/identity.ts'
import { type Message, messageSchema } from '../../core/message.ts'
import type { Store } from '../../core/store.ts'
import { isCommandLine } from '../../core/viewer.ts'
import type { Gateways } from '../../engine/gateways.ts'
import type { Outbox } from '../../engine/outbox.ts'
import type { Router } from '../../engine/router.ts'
import { defined } from '../../lib/defined.ts'
import type { SkillManager } from '../../runtime/manager.ts'
import type { AccessRule } from '../../runtime/middleware/access.ts'
import { routedPrefixSkills } from '../../runtime/prefix-skills.ts'
import type { AssistantContext } from './context.ts'

/** Keys of `match` that depend only on the text. */
const TEXT_KEYS = /^(not(\[\d+\])?\.)?(text|prefix|subject)$/

/** Implements the assistant's dependencies on the daemon: skills, and messages to people. */
export function createAssistantContext(deps: {
  manager: Pick<SkillManager, 'invoke' | 'requireAccess' | 'list' | 'get'>
  store: { journal: Pick<Store['journal'], 'get'> }
  outbox: Pick<Outbox, 'reply' | 'sendTo'>
  gateways: Pick<Gateways, 'spec'>
  router: Pick<Router, 'explain' | 'routes'>
  /** Called when a call made by `run` has ended and will not be repeated. */
  onEnd(rootId: string): Promise<unknown>
  /** The skills that the configured roles allow. */
  rules(): readonly AccessRule[]
  config(): Config
  now(): number
}): AssistantContext {
  const { manager, store, outbox, gateways, config, now } = deps
  /** Whether the rules allow the skill. Without configured roles, all routed skills are allowed. */
  const isGranted = (skill: string, caller: Caller) =>
    deps.rules().some(({ isMember, skills }) => isMember(caller) && skills.matches(skill))
  /**
   * Whether a message with another text, but otherwise like this one, could be routed to the skill
   * without approval.
   */
  const isRouted = (skill: string, message: Message) =>
    deps.router
      .explain(message)
      .some(
        (route) =>
          route.skill === skill &&
          route.keys.every(({ key, matched }) => matched || TEXT_KEYS.test(key)) &&
          !needsApproval(route.route),
      )
  const needsApproval = (route: string) =>
    deps.router.routes().some(({ name, approval }) => name === route && approval)

  const words = () => routedPrefixSkills(manager, deps.router.routes())

  return {
    words,
    mayUse(skill, call) {
      const { message, caller } = call
      if (!manager.get(skill)) return false
      if (isOperator(caller) || isCommandLine(message)) return true
      const isWord = words().some(({ name }) => name === skill)
      return isWord || isGranted(skill, caller) || (message !== undefined && isRouted(skill, message))
    },
    requireAccess: manager.requireAccess,
    async run(skill, args, call) {
      const { caller, message, route, model, trace, signal, rootId, sends } = call
      let isOver = true
      // A repeated call has the same id, and so finds its approvals. The outer call has another id,
      // so that events and subscriptions stay separate.
      const ownRootId = `${rootId}:${skill}`
      // The recursion limit cannot stop a skill that calls itself: each call starts at depth 0.
      if (`${rootId}:`.includes(`:${skill}:`))
        throw new TriviumError('usage', { details: `${skill} is already running this.` })
      try {
        return await manager.invoke(skill, args, {
          rootId: ownRootId,
          ...defined({ caller, message, route, model, trace, signal, sends }),
        })
      } catch (error) {
        isOver = !willResume(error, call)
        throw error
      } finally {
        if (isOver) await deps.onEnd(ownRootId)
      }
    },
    async report(to, result) {
      const replyTarget = Object(to.data.replyTarget)
      // The result is due now, so it must not count as a late answer to an old message.
      const current = replyTarget.at === undefined ? {} : { replyTarget: { ...replyTarget, at: now() } }
      const message = messageSchema.parse({ ...to, data: { ...to.data, ...current } })
      await outbox.reply(message, result)
    },
    ask: createAsk(gateways, outbox),
    message: (id) => store.journal.get(id),
    transportOf: (name) => config().gateways.find((gateway) => gateway.name === name)?.transport,
    timezone: () => config().assistant.timezone,
    hasModel: () => config().model?.name !== undefined,
  }
}

function createAsk(
  gateways: Pick<Gateways, 'spec'>,
  outbox: Pick<Outbox, 'reply' | 'sendTo'>,
): AssistantContext['ask'] {
  return async (recipient, text, key, call) => {
    const gateway = 'message' in recipient ? recipient.message.gateway : recipient.gateway
    const spec = gateways.spec(gateway)
    if (!spec) return `gateway ${gateway} is not running here`
    // As in `gateway-send`, other people can be reached only if the gateway is open.
    if ((call.message || 'to' in recipient) && !spec.open) return `gateway ${gateway} is not \`open\``
    try {
      requireGateway(call.caller, gateway)
      const question = { key, text, by: `skill ${call.skill}` }
      if ('message' in recipient) return (await outbox.reply(recipient.message, question)).unsent
      await outbox.sendTo(recipient.gateway, recipient.to, question)
      return undefined
    } catch (error) {
      return reasonOf(error)
    }
  }
}
