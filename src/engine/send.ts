import { type Call, requireGateway, whoCalls } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import { pathGet, toJson } from '../core/json.ts'
import type { Message } from '../core/message.ts'
import type { ArtifactService, Services } from '../core/services.ts'
import type { Store } from '../core/store.ts'
import type { Transport } from '../core/transport.ts'
import { defined } from '../lib/defined.ts'
import { sendKey } from './dispatch-queue.ts'
import { type Outbox, refuseApproval, type Sending } from './outbox.ts'
import { suppressedIn } from './outbox-worker.ts'

export type SendArgs = Parameters<Services['gateways']['send']>[0]

/** Plans a send with `at` or `in`, or finds the planned send with the same key; undefined for an immediate send. Throws `usage`, `no_reply_target`, `limit_reached`. */
export type SendLater = (
  args: SendArgs,
  target: { gateway: string; message?: Message; to?: string },
  sending: Sending,
  call: Call,
) =>
  | Promise<{ key: string; sent: boolean; duplicate: boolean; at: string; state: string } | undefined>
  | undefined

type Copies = {
  [Key in 'cc' | 'bcc' | 'replyAll' | 'calendar']: Exclude<Sending[Key], undefined> | undefined
}

/** Either the answered message, or an explicit target. */
type Target = { gateway: string; message?: Message; to?: string; moreTo?: string[] }

/** The service behind `gateway-send`. The target of a reply comes only from the inbound message. */
export function createSend(options: {
  outbox: Pick<Outbox, 'reply' | 'sendTo' | 'wait'>
  store: { journal: Pick<Store['journal'], 'get'>; receive: Pick<Store['receive'], 'leased'> }
  gateway(name: string): { open: boolean } | undefined
  /** The transport of a gateway running here. */
  transport(name: string): Pick<Transport, 'requireTarget' | 'copies'> | undefined
  files: Pick<ArtifactService, 'requireAll'>
  later: SendLater
  newKey(): string
}) {
  const { outbox, store } = options
  const isOpen = (gateway: string) => options.gateway(gateway)?.open ?? false

  return {
    async send(args, call) {
      const target = await targetOf(args, call)
      const { gateway, message, to = '', moreTo } = target
      refuseApproval(gateway, args.data)
      await options.files.requireAll(args.attachments ?? [], call, message)
      const { text, subject, attachments, data, calendar } = args
      const replyAll = args.replyAll ?? args['reply-all']
      const copies = { cc: listOf(args.cc), bcc: listOf(args.bcc), replyAll, calendar }
      requireCopies(copies, target)
      const key = keyOf(args, target, call, options.newKey)
      try {
        const sending = {
          key,
          text,
          by: whoCalls(call),
          ...defined({ subject, attachments, data, moreTo, ...copies }),
        }
        const later = await options.later(args, target, sending, call)
        if (later) return later
        const { id, queued, unsent } = await (message
          ? outbox.reply(message, sending)
          : outbox.sendTo(gateway, to, sending))
        if (unsent !== undefined && isNamed(args))
          throw new TriviumError('no_reply_target', { reason: unsent })
        if (unsent !== undefined) return { key, sent: false, duplicate: false }
        const state = args.wait === undefined ? undefined : await outbox.wait(id, args.wait, call.signal)
        if (state?.state === 'dead') {
          throw new TriviumError('send_rejected', { gateway, reason: state.error.message })
        }
        const receipt = pathGet(state?.result, 'receipt')
        const told = receipt === undefined ? {} : { receipt: toJson(receipt) }
        const suppressed = suppressedIn(toJson(receipt))
        const isSent = state !== undefined && suppressed === undefined
        return { key, sent: isSent, duplicate: !queued, ...told, ...defined({ suppressed }) }
      } catch (error) {
        call.sends.refused()
        throw error
      }
    },
  } satisfies Pick<Services['gateways'], 'send'>

  /** Resolves the target. Throws before anything counts as sent. */
  async function targetOf(args: SendArgs, call: Call): Promise<Target> {
    if (isNamed(args)) {
      const message = await namedMessage(store, args)
      requireRight(message, call)
      return { gateway: message.gateway, message }
    }
    if (isReply(args, call)) return { gateway: call.message.gateway, message: call.message }
    const { gateway, to } = args
    if (gateway === undefined || to === undefined) {
      const reason = 'give `messageId` or `receipt` to answer a message, or `gateway` and `to`'
      throw new TriviumError('no_reply_target', { reason })
    }
    if (!options.gateway(gateway)) throw new TriviumError('gateway_not_found', { name: gateway, hint: '' })
    requireGateway(call.caller, gateway)
    if (!isOpen(gateway)) throw new TriviumError('target_not_allowed', { gateway })
    const [first = '', ...moreTo] = listOf(to) ?? []
    await options.transport(gateway)?.requireTarget?.(first)
    return { gateway, to: first, ...(moreTo.length > 0 ? { moreTo } : {}) }
  }

  /** Refuses further recipients if the transport has no support, or if only the sender may be answered. */
  function requireCopies(
    { cc, bcc, replyAll, calendar }: Copies,
    { gateway, message, moreTo }: Target,
  ): void {
    const isAnswer = replyAll !== undefined || calendar !== undefined
    const isMore = cc !== undefined || bcc !== undefined || moreTo !== undefined
    if (!isAnswer && !isMore) return
    const transport = options.transport(gateway)
    const rejected = (reason: string) => new TriviumError('send_rejected', { gateway, reason })
    if (transport && !transport.copies)
      throw rejected('it sends to one target; several, cc, bcc, replyAll and calendar are for email')
    if (isAnswer && !message) throw rejected('replyAll and calendar answer a message: name it by messageId')
    if ((cc || bcc) && !isOpen(gateway)) throw new TriviumError('target_not_allowed', { gateway })
  }

  /** A dispatched call may answer its own conversation; an external call, what its token allows. */
  function requireRight({ id, gateway, conversation }: Message, { caller, message: own }: Call): void {
    requireGateway(caller, gateway)
    if (!own || isOpen(gateway)) return
    if (own.gateway === gateway && own.conversation === conversation) return
    const reason = `it belongs to another conversation, and gateway ${gateway} is not \`open\``
    throw new TriviumError('forbidden', { what: `Answering message ${id}`, reason })
  }
}

async function namedMessage(
  store: { journal: Pick<Store['journal'], 'get'>; receive: Pick<Store['receive'], 'leased'> },
  { messageId: id = '', receipt }: SendArgs,
): Promise<Message> {
  const message = await (receipt === undefined ? store.journal.get(id) : store.receive.leased(receipt))
  if (message) return message
  throw receipt === undefined
    ? new TriviumError('message_not_found', { id })
    : new TriviumError('receipt_expired', { receipt })
}

function listOf(value: string | string[] | undefined): string[] | undefined {
  return typeof value === 'string' ? [value] : value
}

function isNamed({ messageId, receipt }: SendArgs): boolean {
  return messageId !== undefined || receipt !== undefined
}

/** Naming the conversation's own gateway is still a reply; an explicit target never is. */
function isReply(args: SendArgs, call: Call): call is Call & { message: Message } {
  if (!call.message || args.to !== undefined) return false
  return args.gateway === undefined || args.gateway === call.message.gateway
}

/**
 * A chosen key is scoped to the named message, or else to the gateway, so that it cannot collide with keys of other callers'
 * replies and questions.
 */
function keyOf(args: SendArgs, { gateway, message }: Target, call: Call, newKey: () => string): string {
  const ordinal = call.sends.next()
  if (args.key !== undefined && isNamed(args)) return `answer:${message?.id}:${args.key}`
  if (args.key !== undefined) return `${gateway}:${args.key}`
  if (call.message && call.route !== undefined) return sendKey(call.message.id, call.route, ordinal)
  return newKey()
}
