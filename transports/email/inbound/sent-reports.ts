import type { TransportDeps } from '../../../src/core/transport.ts'
import type { SentLog, SentRecord } from '../sent-log.ts'
import { type Bounce, readBounce } from './bounce.ts'
import type { Mail } from './parse.ts'
import { type ReadReceipt, readReceipt } from './receipt.ts'

/**
 * What a mail tells about sends. `bounce` and `receipt`: about one of ours, to which it is tied. `foreign`: a bounce
 * of something that others sent from this mailbox. Undefined: it is a message.
 */
export type SentReports = (mail: Mail) => Promise<'bounce' | 'receipt' | 'foreign' | undefined>

/** Ties bounces and read receipts to what this gateway sent: in the log, the history and the metrics. */
export function createSentReports({ deps, sent }: { deps: TransportDeps; sent: SentLog }): SentReports {
  const { log } = deps

  const tieBounce = async (bounce: Bounce) => {
    const { marks, form, ...what } = bounce
    const found = await Promise.all(marks.map((mark) => sent.bounced(mark, bounce, deps.now())))
    const records = found.filter((record) => record !== undefined)
    if (records.length === 0) {
      if (form === 'notice') return undefined
      log.info({ ...what }, 'a bounce of mail that this gateway did not send was left alone')
    }
    deps.refused('bounce')
    for (const record of records) noteBounce(record, what)
    return records.length === 0 ? 'foreign' : 'bounce'
  }

  const noteBounce = (record: SentRecord, what: Omit<Bounce, 'marks' | 'form'>) => {
    const { inReplyTo, conversation, key, to } = record
    const fields = { ...what, messageId: inReplyTo, conversation, key }
    if (inReplyTo) deps.note(inReplyTo, `reply ${what.action}`, { ...what, to })
    if (what.action === 'failed') log.error(fields, `mail to ${to} came back`)
    else log.info(fields, `mail to ${to} is reported as ${what.action}`)
  }

  const tieReceipt = async ({ marks, disposition }: ReadReceipt) => {
    const found = await Promise.all(marks.map((mark) => sent.get(mark)))
    const records = found.filter((record) => record !== undefined)
    for (const { inReplyTo, conversation, key, to } of records) {
      if (inReplyTo) deps.note(inReplyTo, `reply ${disposition}`, { to })
      log.info({ messageId: inReplyTo, conversation, key }, `mail to ${to} is reported as ${disposition}`)
    }
    if (records.length === 0) return undefined
    deps.refused('receipt')
    return 'receipt'
  }

  return async (mail) => {
    const bounce = readBounce(mail)
    if (bounce) return tieBounce(bounce)
    const receipt = readReceipt(mail)
    return receipt && tieReceipt(receipt)
  }
}
