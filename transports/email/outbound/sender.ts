import { hash } from 'node:crypto'
import nodemailer, { type SendMailOptions } from 'nodemailer'
import { z } from 'zod'
import { reasonOf, TriviumError } from '../../../src/core/errors.ts'
import { withoutTag } from '../../../src/core/identity.ts'
import {
  type Probed,
  type Receipt,
  type Reply,
  SendPostponed,
  type TransportDeps,
} from '../../../src/core/transport.ts'
import type { Rate } from '../../../src/core/units.ts'
import { updateKv } from '../../../src/core/update-kv.ts'
import { defined } from '../../../src/lib/defined.ts'
import { createTokenBucket } from '../../../src/lib/token-bucket.ts'
import type { ConnectImap } from '../mailbox/imap-connection.ts'
import type { EmailOptions } from '../options.ts'
import type { ReplyTarget } from '../reply-target.ts'
import type { SentLog } from '../sent-log.ts'
import { attachmentsOf, compose, type Outgoing } from './compose.ts'
import type { Smtp } from './smtp.ts'

/** Sends replies: once per key, never to a machine, within the limits. */
export function createSender(parts: {
  options: EmailOptions
  deps: TransportDeps
  connect: ConnectImap
  smtp: Smtp
  sent: SentLog
}) {
  const { options, deps, smtp, sent } = parts
  const { log, gateway, now } = deps
  const sentFolder = options.sent && createSentFolder(options.sent, parts.connect)
  const takeFromBudget = createBudget(options['reply-budget'], deps)
  let trouble: string | undefined
  const takePlace = createTokenBucket(options['rate-limit'], now)

  const send = async (reply: Reply): Promise<Receipt> => {
    const outgoing = compose(reply, options)
    const { mark, messageId: id, to } = outgoing
    const before = await sent.get(mark)
    if (before?.state === 'sent') return { id, data: { response: before.response ?? '' } }

    const { target } = outgoing
    const isOld = target && now() - target.at > options['reply-max-age']
    const reason = target?.suppress ?? (isOld ? 'too-old' : undefined)
    if (reason) {
      deps.refused(`reply:${reason}`, { from: to, why: 'mail from there is not answered', body: reply.text })
      const fields = { messageId: reply.inReplyTo, to, reason }
      log.info(fields, 'the reply was not sent: this mail is not answered by itself')
      return { id, data: { suppressed: reason } }
    }
    if (target) await withinBudget(to, reply, target)
    const wait = takePlace()
    // The outbox calls again when there is a place: who waits here keeps others from sending.
    if (wait > 0) throw new SendPostponed(wait)
    return handOver(reply, outgoing, before?.at ?? now())
  }

  const withinBudget = async (to: string, reply: Reply, { thread, quick }: ReplyTarget) => {
    const { key, conversation, text } = reply
    const names = [withoutTag(to.toLowerCase()), conversation, thread ?? conversation]
    const wait = await takeFromBudget(names, key, quick ?? false)
    if (wait <= 0) return
    const minutes = Math.ceil(wait / 60_000)
    const reason = `the budget of automatic replies to ${to}, or in this thread, is used up for ${minutes} min (reply-budget); retry it by hand if it is no loop`
    deps.refused('reply:budget', { from: to, why: reason, body: text })
    throw new TriviumError('send_rejected', { gateway, reason })
  }

  /** `at` stays the same over attempts: with the Message-ID it is what a mail is known by. */
  const handOver = async (reply: Reply, outgoing: Outgoing, at: number): Promise<Receipt> => {
    const { mark, messageId, to, target } = outgoing
    const { key, conversation, inReplyTo } = reply
    const record = defined({ key, at, to, conversation, inReplyTo, thread: target?.thread })
    const copy = async () => ({
      ...outgoing.mail,
      date: new Date(at),
      attachments: await attachmentsOf(reply, deps.artifacts),
    })
    let isNoted = false
    // As late as can be, so that a crash leaves in doubt only what a server may have. Not later: what comes back, a copy
    // or a bounce, may be here before the answer is.
    const beforeEnd = async () => {
      await sent.set(mark, { ...record, state: 'sending' })
      isNoted = true
    }
    const response = await smtp.send(await copy(), key, beforeEnd).catch(async (error) => {
      const code = error instanceof TriviumError ? error.code : ''
      // A server that refuses a mail for good is there.
      trouble = code === 'send_rejected' ? undefined : `mail cannot be sent: ${reasonOf(error)}`
      if (isNoted && code !== 'send_ambiguous') await sent.set(mark, { ...record, state: 'refused' })
      throw error
    })
    trouble = undefined
    try {
      await sent.set(mark, { ...record, state: 'sent', response })
    } catch (error) {
      // The mail is sent, also where the store is just away: thrown, this would look like an attempt that failed.
      log.warn({ mailId: messageId, reason: reasonOf(error) }, 'that a mail was sent could not be noted')
    }
    log.info({ messageId: inReplyTo, conversation, to, mailId: messageId }, 'mail was sent')
    try {
      await sentFolder?.keep(copy)
    } catch (error) {
      // The mail is sent; a copy that cannot be kept must not make it be sent again.
      log.error({ mailId: messageId, reason: reasonOf(error) }, 'the copy of a sent mail could not be kept')
    }
    return { id: messageId, data: { response } }
  }

  return {
    send,
    /** Why mail cannot be sent at present, for people. */
    trouble: () => trouble,
    async probe(reply: Reply): Promise<Probed> {
      const { mark, messageId } = compose(reply, options)
      const record = await sent.get(mark)
      if (!record || record.state === 'refused') return { sent: false }
      if (record.state === 'sent' || (await sentFolder?.has(messageId)))
        return { sent: true, receipt: { id: messageId } }
      // A server that keeps the copies itself has none of what it never took. Our own copy comes after the send.
      if (options.sent?.copy === 'server') return { sent: false }
      const how = `look for ${messageId} in the log of your mail server, or ask ${record.to}`
      return { sent: 'unknown', how }
    },
  }
}

/** The folder with what was sent. Each call uses a connection of its own: the reader's is busy waiting. */
function createSentFolder({ folder, copy }: NonNullable<EmailOptions['sent']>, connect: ConnectImap) {
  return {
    /** Whether a mail with this Message-ID is there. */
    async has(messageId: string): Promise<boolean> {
      using connection = await connect()
      await connection.run((client) => client.mailboxOpen(folder, { readOnly: true }))
      return (await connection.search({ header: { 'message-id': messageId } })).length > 0
    },
    /** Puts a copy there, where the server does not do so by itself. `compose` opens the files of the mail. */
    async keep(compose: () => Promise<SendMailOptions>): Promise<void> {
      if (copy === 'server') return
      const composer = nodemailer.createTransport({ streamTransport: true, buffer: true, newline: 'windows' })
      const { message } = await composer.sendMail(await compose())
      if (!Buffer.isBuffer(message)) throw new Error('the copy of a mail could not be made')
      using connection = await connect()
      const append = () => connection.run((client) => client.append(folder, message, ['\\Seen']))
      if (await append().catch(() => false)) return
      // The folder may be missing. Where it is not, making it fails, and says nothing of why.
      await connection.run((client) => client.mailboxCreate(folder)).catch(() => {})
      if (!(await append())) throw new Error(`the IMAP server refused a copy for ${folder}`)
    },
  }
}

/** About as long as a dead letter is worth sending again. */
const DEAD_LETTERS = 30 * 86_400_000
/** So many replies are left of a budget, however quick they were: people can be quick. */
const FEW = 3
/** When each reply was taken (Unix ms), its key, and whether it was quick. */
const takenSchema = z.array(z.tuple([z.number(), z.string(), z.boolean()])).catch([])

/**
 * Counts automatic replies over a sliding window, for all daemons together. The function takes one out of the budget of
 * each of `names`; 0, or the ms until there is room again. The same `key` counts once, and one that was refused before is
 * let through: it is a dead letter, which only a person sends again. Each one that is `quick` halves the budget.
 */
function createBudget(rate: Rate | 'off', { kv, gateway, now }: TransportDeps) {
  const digest = (text: string) => hash('sha256', text, 'base64url').slice(0, 16)
  return async (names: readonly string[], key: string, quick: boolean): Promise<number> => {
    const mark = digest(key)
    const refused = `email/${gateway}/over-budget/${mark}`
    if (rate === 'off' || (await kv.get(refused))) return 0
    let wait = 0
    for (const name of new Set(names)) {
      await updateKv(kv, `email/${gateway}/budget/${digest(name)}`, (value) => {
        const taken = takenSchema.parse(value).filter(([at]) => at > now() - rate.per)
        wait = 0
        if (taken.some(([, each]) => each === mark)) return undefined
        const next: typeof taken = [...taken, [now(), mark, quick]]
        const half = Math.floor(rate.count / 2 ** next.filter(([, , isQuick]) => isQuick).length)
        const [oldest] = taken
        if (oldest && taken.length >= Math.min(rate.count, Math.max(FEW, half)))
          wait = oldest[0] + rate.per - now()
        return wait > 0 ? undefined : { value: next, ttl: rate.per }
      })
      if (wait > 0) break
    }
    if (wait > 0) await kv.set(refused, true, { ttl: DEAD_LETTERS })
    return wait
  }
}
