import type { ArtifactService } from '../core/artifacts.ts'
import { type Call, callerLabel } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import { pathGet, toJson } from '../core/json.ts'
import type { Message } from '../core/message.ts'
import type { ServiceOf } from '../core/operation.ts'
import { defined } from '../lib/defined.ts'
import { sendKey } from './dispatch-queue.ts'
import type { gateways } from './operations/gateways.ts'
import { type Outbox, refuseApproval, type Sending } from './outbox.ts'
import { suppressedIn } from './outbox-worker.ts'
import {
  createSendTarget,
  isNamed,
  listOf,
  type SendArgs,
  type SendTargetOptions,
  type Target,
} from './send-target.ts'

/**
 * Plans a send with `at` or `in`, or finds the planned send with the same key; undefined for an
 * immediate send. Throws `usage`, `no_reply_target`, `limit_reached`.
 */
export type SendLater = (
  args: SendArgs,
  target: { gateway: string; message?: Message; to?: string },
  sending: Sending,
  call: Call,
) =>
  | Promise<{ key: string; sent: boolean; duplicate: boolean; at: string; state: string } | undefined>
  | undefined

/** The service behind `gateway-send`. The target of a reply comes only from the inbound message. */
export function createSend(
  options: SendTargetOptions & {
    outbox: Pick<Outbox, 'reply' | 'replyAt' | 'sendTo' | 'wait'>
    files: Pick<ArtifactService, 'requireAll'>
    later: SendLater
    newKey(): string
  },
) {
  const { outbox } = options
  const { targetOf, requireCopies } = createSendTarget(options)
  const add = ({ gateway, message, to = '' }: Target, sending: Sending) => {
    if (!message) return outbox.sendTo(gateway, to, sending)
    return to === '' ? outbox.reply(message, sending) : outbox.replyAt(message, to, sending)
  }

  return {
    async send(args, call) {
      const target = await targetOf(args, call)
      const { gateway, message, moreTo } = target
      refuseApproval(gateway, args.data)
      await options.files.requireAll(args.attachments ?? [], call, message)
      const { text, subject, attachments, data, calendar } = args
      const replyAll = args.replyAll ?? args['reply-all']
      const copies = { cc: listOf(args.cc), bcc: listOf(args.bcc), replyAll, calendar }
      await requireCopies(copies, target)
      const key = keyOf(args, target, call, options.newKey)
      try {
        const sending = {
          key,
          text,
          by: callerLabel(call),
          ...defined({ subject, attachments, data, moreTo, ...copies }),
        }
        const later = await options.later(args, target, sending, call)
        if (later) return later
        const { id, queued, unsent } = await add(target, sending)
        if (unsent !== undefined && isNamed(args))
          throw new TriviumError('no_reply_target', { reason: unsent })
        if (unsent !== undefined) return { key, sent: false, duplicate: false }
        const state = args.wait === undefined ? undefined : await outbox.wait(id, args.wait, call.signal)
        if (state?.state === 'dead') {
          throw rejected(gateway, state.error.message)
        }
        const receipt = pathGet(state?.result, 'receipt')
        const withReceipt = receipt === undefined ? {} : { receipt: toJson(receipt) }
        const suppressed = suppressedIn(toJson(receipt))
        const isSent = state !== undefined && suppressed === undefined
        return { key, sent: isSent, duplicate: !queued, ...withReceipt, ...defined({ suppressed }) }
      } catch (error) {
        call.sends.refused()
        throw error
      }
    },
  } satisfies Pick<ServiceOf<typeof gateways>, 'send'>
}

/** The error of a dead reply. `message` may be the message of the same error already. */
function rejected(gateway: string, message: string): TriviumError {
  const { message: beginning } = new TriviumError('send_rejected', { gateway, reason: '' })
  const reason = message.startsWith(beginning) ? message.slice(beginning.length) : message
  return new TriviumError('send_rejected', { gateway, reason })
}

/**
 * A chosen key is scoped to the named message, or else to the gateway, so that it cannot collide
 * with keys of other callers' replies and questions.
 */
function keyOf(args: SendArgs, { gateway, message }: Target, call: Call, newKey: () => string): string {
  const ordinal = call.sends.next()
  if (args.key !== undefined && isNamed(args)) return `answer:${message?.id}:${args.key}`
  if (args.key !== undefined) return `${gateway}:${args.key}`
  if (call.message && call.route !== undefined) return sendKey(call.message.id, call.route, ordinal)
  return newKey()
}
