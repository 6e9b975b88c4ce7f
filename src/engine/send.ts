import { type Call, requireGateway, whoCalls } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import { pathGet, toJson } from '../core/json.ts'
import type { Message } from '../core/message.ts'
import type { ArtifactService, Services } from '../core/services.ts'
import type { Store } from '../core/store.ts'
import type { Transport } from '../core/transport.ts'
import { defined } from '../lib/defined.ts'
import { sendKey } from './dispatch.ts'
import { type Outbox, refuseApproval, type Sending } from './outbox.ts'
import { suppressedIn } from './outbox-worker.ts'

export type SendArgs = Parameters<Services['gateways']['send']>[0]

/** What `at` and `in` make of a send, or a planned send that has its key; undefined for one that goes out now. Throws `usage`, `no_reply_target`, `limit_reached`. */
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

/** Either the message that is answered, or an explicit target. */
type Target = { gateway: string; message?: Message; to?: string; moreTo?: string[] }

/** The service behind `gateway-send`. The target of a reply comes from the inbound message alone. */
export function createSend(options: {
  outbox: Pick<Outbox, 'reply' | 'sendTo' | 'wait'>
  store: { journal: Pick<Store['journal'], 'get'>; receive: Pick<Store['receive'], 'leased'> }
  gateway(name: string): { open: boolean } | undefined
  /** The transport of a gateway that runs here. */
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

  /** Throws before anything counts as sent. */
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

  /** Refuses further recipients where the transport has none, or where only the sender may be answered. */
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

  /** What a message started may answer its own conversation; what comes from outside, whatever its token is for. */
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

/** Naming the conversation's own gateway is still a reply; naming a target never is. */
function isReply(args: SendArgs, call: Call): call is Call & { message: Message } {
  if (!call.message || args.to !== undefined) return false
  return args.gateway === undefined || args.gateway === call.message.gateway
}

/**
 * A key given for a message that is named counts for that message, any other for the gateway that is sent through: none that somebody chooses
 * is that of an answer or a question of others.
 */
function keyOf(args: SendArgs, { gateway, message }: Target, call: Call, newKey: () => string): string {
  const ordinal = call.sends.next()
  if (args.key !== undefined && isNamed(args)) return `answer:${message?.id}:${args.key}`
  if (args.key !== undefined) return `${gateway}:${args.key}`
  if (call.message && call.route !== undefined) return sendKey(call.message.id, call.route, ordinal)
  return newKey()
}
