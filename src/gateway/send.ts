import type { Call } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import { type Json, pathGet, toJson } from '../core/json.ts'
import type { SendService } from '../core/services.ts'
import type { JobEnd } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { sendKey } from './dispatch.ts'
import type { Outbox, Sending } from './outbox.ts'
import { refuseApproval } from './skill-reply.ts'

/** What sending needs to know of a gateway. */
export type Openness = { name: string; open: boolean }

/**
 * The service behind `gateway-send`: a reply into the conversation of the call's message, or, on gateways that
 * are `open`, to another target. The reply target comes from the inbound message alone.
 */
export function createSend(options: {
  outbox: Pick<Outbox, 'reply' | 'sendTo' | 'wait'>
  gateway(name: string): Openness | undefined
  newKey(): string
}): SendService {
  const { outbox } = options

  return {
    async send(args, call) {
      const gateway = args.gateway ?? call.message?.gateway ?? ''
      refuseApproval(gateway, args.data)
      const put = targetOf(args, call)
      const { text, subject, attachments, data } = args
      const key = keyOf(args.key, call, options.newKey)
      try {
        const { id, queued } = await put({ key, text, ...defined({ subject, attachments, data }) })
        const state = args.wait === undefined ? undefined : await outbox.wait(id, args.wait, call.signal)
        if (state?.state === 'dead') {
          throw new TriviumError('send_rejected', { gateway, reason: state.error.message })
        }
        return { key, sent: state?.state === 'done', duplicate: !queued, ...receiptOf(state) }
      } catch (error) {
        call.sends.refused()
        throw error
      }
    },
  }

  /** Where it goes. Throws before anything counts as sent. */
  function targetOf(args: SendArgs, call: Call): (sending: Sending) => ReturnType<Outbox['reply']> {
    if (isReply(args, call)) return (sending) => outbox.reply(call.message, sending)
    const { gateway, to } = args
    if (gateway === undefined || to === undefined) throw new TriviumError('no_reply_target')
    const found = options.gateway(gateway)
    if (!found) throw new TriviumError('gateway_not_found', { name: gateway, hint: '' })
    if (!found.open) throw new TriviumError('target_not_allowed', { gateway })
    return (sending) => outbox.sendTo(gateway, to, sending)
  }
}

type SendArgs = Parameters<SendService['send']>[0]

/** Naming the conversation's own gateway is still a reply; naming a target never is. */
function isReply(args: SendArgs, call: Call): call is Call & { message: NonNullable<Call['message']> } {
  if (!call.message || args.to !== undefined) return false
  return args.gateway === undefined || args.gateway === call.message.gateway
}

function keyOf(given: string | undefined, call: Call, newKey: () => string): string {
  const ordinal = call.sends.next()
  if (given !== undefined) return call.message ? `${call.message.gateway}:${given}` : given
  if (call.message && call.route !== undefined) return sendKey(call.message.id, call.route, ordinal)
  return newKey()
}

function receiptOf(state: JobEnd | undefined): { receipt?: Json } {
  const receipt = state?.state === 'done' ? pathGet(state.result, 'receipt') : undefined
  return receipt === undefined ? {} : { receipt: toJson(receipt) }
}
