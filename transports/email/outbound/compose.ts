import type { SendMailOptions } from 'nodemailer'
import { TriviumError } from '../../../src/core/errors.ts'
import type { Artifacts, Reply } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { prefixOf } from '../inbound/subject.ts'
import type { EmailOptions } from '../options.ts'
import { type ReplyTarget, replyTargetSchema } from '../reply-target.ts'
import { markOf, messageIdOf } from '../sent-log.ts'
import { renderMarkdown } from './markdown.ts'

/** A mail that is ready to be sent. `target`: what it answers; undefined for mail to an explicit address. */
export type Outgoing = ReturnType<typeof compose>

/** Nobody's is longer. What cannot be folded is refused over 998 characters (RFC 5322, section 2.1.1). */
const MAX_NAME = 200
const MAX_SUBJECT = 500
/** The ids of others that are sent on (RFC 5322, section 3.6.4). Some have no `@`, and thread all the same. */
const MESSAGE_ID = /^<[!-;=?-~]{1,500}>$/

/** RFC 5321, section 4.5.3.1. */
const MAX_ADDRESS = 320
/** Exactly one (RFC 5321, section 4.1.2), without quotes: nobody has those. */
const ADDRESS = /^[^\s\p{Cc}@<>,;:"()[\]\\]+@[^\s\p{Cc}@<>,;:"()[\]\\]+$/u

/**
 * Turns a reply into a mail that every client puts into the thread (RFC 5322, section 3.6.4) and that no machine
 * answers (RFC 3834, section 3.1.7). Throws `send_rejected` where it has nobody to go to.
 */
export function compose(reply: Reply, options: EmailOptions) {
  const rejected = (reason: string) => new TriviumError('send_rejected', { gateway: reply.gateway, reason })
  const target = reply.to === undefined ? replyTargetSchema.safeParse(reply.target).data : undefined
  const to = reply.to ?? target?.to
  if (to === undefined) throw rejected('its message has no reply target of a mail')
  if (to.length > MAX_ADDRESS || !ADDRESS.test(to))
    throw rejected(`${JSON.stringify(to)} is not one mail address`)
  const mark = markOf(reply.gateway, reply.key)
  const messageId = messageIdOf(mark, options.address)
  const name = target?.name?.slice(0, MAX_NAME) ?? ''
  const references = target?.references.filter((id) => MESSAGE_ID.test(id)) ?? []
  const { html, text } = renderMarkdown(reply.text)
  return {
    mark,
    messageId,
    to,
    target,
    mail: {
      messageId,
      from: options.name ? { name: options.name, address: options.address } : options.address,
      // As text an address with a quoted part would be read as a list.
      to: { name, address: to },
      subject: subjectOf(reply, target, text),
      text,
      html,
      ...defined({
        replyTo: options['reply-to'],
        inReplyTo: MESSAGE_ID.test(target?.messageId ?? '') ? target?.messageId : undefined,
      }),
      references,
      headers: {
        'Auto-Submitted': target ? 'auto-replied' : 'auto-generated',
        'X-Auto-Response-Suppress': 'OOF, AutoReply',
      },
      envelope: { from: options.address, to: [to] },
      // Servers that can (RFC 3461) put the mark into a bounce, even where they drop our headers.
      dsn: {
        id: `trivium.${mark}`,
        return: 'headers',
        notify: ['failure', 'delay'],
        recipient: `rfc822;${to}`,
      },
      // A reply's text comes from a skill; it must not be able to attach the host's files.
      disableFileAccess: true,
      disableUrlAccess: true,
    } satisfies SendMailOptions,
  }
}

/** The files of a reply, as mail carries them. Each copy of a mail needs its own: they are read once. */
export function attachmentsOf({ attachments = [] }: Reply, artifacts: Artifacts) {
  return Promise.all(
    attachments.map(async ({ name: filename, type: contentType, sha256 }) => {
      return { filename, contentType, content: await artifacts.open(sha256) }
    }),
  )
}

function subjectOf(reply: Reply, target: ReplyTarget | undefined, text: string): string {
  const given = reply.subject?.replaceAll(/\s+/g, ' ').trim()
  if (given) return given.slice(0, MAX_SUBJECT)
  if (!target) return text.split('\n', 1)[0]?.slice(0, 78).trim() || '(no subject)'
  const subject = target.subject.slice(0, MAX_SUBJECT)
  return prefixOf(subject) === 'reply' ? subject : `Re: ${subject}`.trim()
}
