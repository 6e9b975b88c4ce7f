import { type Call, requireGateway } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import type { Message } from '../core/message.ts'
import type { ServiceOf } from '../core/operation.ts'
import type { Store } from '../core/store.ts'
import type { Transport } from '../core/transport.ts'
import type { gateways } from './operations/gateways.ts'
import type { Sending } from './outbox.ts'

export type SendArgs = Parameters<ServiceOf<typeof gateways>['send']>[0]

/** Who gets copies, and how an answer is made. */
export type Copies = {
  [Key in 'cc' | 'bcc' | 'replyAll' | 'calendar']: Exclude<Sending[Key], undefined> | undefined
}

/** The answered message, an explicit target, or both: the message is answered there. */
export type Target = { gateway: string; message?: Message; to?: string; moreTo?: string[] }

type Messages = { journal: Pick<Store['journal'], 'get'>; receive: Pick<Store['receive'], 'leased'> }

export type SendTargetOptions = {
  store: Messages
  gateway(name: string): { open: boolean } | undefined
  /** The transport of a gateway running here. */
  transport(name: string): Pick<Transport, 'requireTarget' | 'severalTargets'> | undefined
}

/** Decides where a send goes, and whether the caller may send there. */
export function createSendTarget(options: SendTargetOptions) {
  const isOpen = (gateway: string) => options.gateway(gateway)?.open ?? false

  /** Resolves the target. Throws before anything counts as sent. */
  async function targetOf(args: SendArgs, call: Call): Promise<Target> {
    if (isNamed(args)) {
      const message = await namedMessage(options.store, args)
      requireRight(message, call)
      const { gateway } = message
      return { gateway, message, ...(args.to !== undefined && (await explicit(gateway, args.to))) }
    }
    if (isReply(args, call)) return { gateway: call.message.gateway, message: call.message }
    const { gateway, to } = args
    if (gateway === undefined || to === undefined) {
      const reason = 'give `messageId` or `receipt` to answer a message, or `gateway` and `to`'
      throw new TriviumError('no_reply_target', { reason })
    }
    if (!options.gateway(gateway)) throw new TriviumError('gateway_not_found', { name: gateway, hint: '' })
    requireGateway(call.caller, gateway)
    return { gateway, ...(await explicit(gateway, to)) }
  }

  async function explicit(gateway: string, to: string | string[]): Promise<Pick<Target, 'to' | 'moreTo'>> {
    if (!isOpen(gateway)) throw new TriviumError('target_not_allowed', { gateway })
    const [first = '', ...moreTo] = listOf(to) ?? []
    await requireTargets(gateway, [first, ...moreTo])
    return { to: first, ...(moreTo.length > 0 ? { moreTo } : {}) }
  }

  async function requireTargets(gateway: string, targets: readonly string[]): Promise<void> {
    for (const each of targets) await options.transport(gateway)?.requireTarget?.(each)
  }

  /**
   * Throws for copies that the transport does not support, for further recipients if the gateway is
   * not `open`, and for a recipient that is not an address of the transport.
   */
  async function requireCopies(
    { cc, bcc, replyAll, calendar }: Copies,
    { gateway, message, to, moreTo }: Target,
  ): Promise<void> {
    const isAnswer = replyAll !== undefined || calendar !== undefined
    const isElsewhere = message !== undefined && to !== undefined
    const isMore = cc !== undefined || bcc !== undefined || moreTo !== undefined || isElsewhere
    if (!isAnswer && !isMore) return
    const transport = options.transport(gateway)
    const rejected = (reason: string) => new TriviumError('send_rejected', { gateway, reason })
    if (transport && !transport.severalTargets)
      throw rejected(
        'it sends to one target; several, cc, bcc, replyAll, calendar, and `to` with messageId are for email',
      )
    if (isAnswer && !message) throw rejected('replyAll and calendar answer a message: name it by messageId')
    if (isAnswer && isElsewhere) throw rejected('replyAll and calendar answer the sender: leave out `to`')
    if ((cc || bcc) && !isOpen(gateway)) throw new TriviumError('target_not_allowed', { gateway })
    await requireTargets(gateway, [...(cc ?? []), ...(bcc ?? [])])
  }

  /** A dispatched call may answer its own conversation; an external call, what its token allows. */
  function requireRight({ id, gateway, conversation }: Message, { caller, message: own }: Call): void {
    requireGateway(caller, gateway)
    if (!own || isOpen(gateway)) return
    if (own.gateway === gateway && own.conversation === conversation) return
    const reason = `it belongs to another conversation, and gateway ${gateway} is not \`open\``
    throw new TriviumError('forbidden', { what: `Answering message ${id}`, reason })
  }

  return { targetOf, requireCopies }
}

async function namedMessage(store: Messages, { messageId: id = '', receipt }: SendArgs): Promise<Message> {
  const message = await (receipt === undefined ? store.journal.get(id) : store.receive.leased(receipt))
  if (message) return message
  throw receipt === undefined
    ? new TriviumError('message_not_found', { id })
    : new TriviumError('receipt_expired', { receipt })
}

export function listOf(value: string | string[] | undefined): string[] | undefined {
  return typeof value === 'string' ? [value] : value
}

/** Whether the answered message is named. */
export function isNamed({ messageId, receipt }: SendArgs): boolean {
  return messageId !== undefined || receipt !== undefined
}

/** Naming the conversation's own gateway is still a reply; an explicit target never is. */
function isReply(args: SendArgs, call: Call): call is Call & { message: Message } {
  if (!call.message || args.to !== undefined) return false
  return args.gateway === undefined || args.gateway === call.message.gateway
}
