import type { SendMailOptions } from 'nodemailer'
import { TriviumError } from '../../../src/core/errors.ts'
import type { Artifacts, Reply } from '../../../src/core/transport.ts'
import { isForwardSubject, isReplySubject } from '../inbound/subject.ts'
import type { EmailOptions } from '../options.ts'
import { markOf, messageIdOf } from '../own-id.ts'
import { type ReplyTarget, replyTargetSchema } from '../reply-target.ts'
import { renderMarkdown } from './markdown.ts'

/** A mail that is ready to be sent. */
export type Outgoing = {
  mark: string
  messageId: string
  to: string
  /** The mail it answers; undefined for mail to an explicit address. */
  target?: ReplyTarget
  mail: SendMailOptions
}

const ADDRESS = /^[^\s@<>,;:"()[\]\\]{1,64}@[^\s@<>,;:"()[\]\\]{1,255}$/

/**
 * Turns a reply into a mail that every client puts into the thread (RFC 5322, section 3.6.4) and that no machine
 * answers (RFC 3834, section 3.1.7). Throws `send_rejected` where it has nobody to go to.
 */
export function compose(reply: Reply, options: EmailOptions, artifacts: Artifacts): Outgoing {
  const target = reply.to === undefined ? targetOf(reply) : undefined
  const to = reply.to ?? target?.to ?? ''
  if (!ADDRESS.test(to)) throw rejected(reply, `${JSON.stringify(to)} is not one mail address`)
  const mark = markOf(reply.gateway, reply.key)
  const messageId = messageIdOf(mark, options.address)
  const name = target?.name
  const { html, text } = renderMarkdown(reply.text)
  return {
    mark,
    messageId,
    to,
    ...(target ? { target } : {}),
    mail: {
      messageId,
      from: options.name ? { name: options.name, address: options.address } : options.address,
      to: name ? { name, address: to } : to,
      ...(options['reply-to'] ? { replyTo: options['reply-to'] } : {}),
      subject: subjectOf(reply, target, text),
      text,
      html,
      ...(target?.messageId ? { inReplyTo: target.messageId } : {}),
      ...(target && target.references.length > 0 ? { references: target.references } : {}),
      headers: {
        'Auto-Submitted': target ? 'auto-replied' : 'auto-generated',
        'X-Auto-Response-Suppress': 'OOF, AutoReply',
      },
      attachments: (reply.attachments ?? []).map((each) => ({
        filename: each.name,
        contentType: each.type,
        content: artifacts.open(each.sha256),
      })),
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
    },
  }
}

function targetOf(reply: Reply): ReplyTarget {
  const parsed = replyTargetSchema.safeParse(reply.target)
  if (!parsed.success) throw rejected(reply, 'its message has no reply target of a mail')
  return parsed.data
}

function subjectOf(reply: Reply, target: ReplyTarget | undefined, text: string): string {
  const given = reply.subject?.replaceAll(/\s+/g, ' ').trim()
  if (given) return given
  if (!target) return text.split('\n', 1)[0]?.slice(0, 78).trim() || '(no subject)'
  const isReply = isReplySubject(target.subject) && !isForwardSubject(target.subject)
  return isReply ? target.subject : `Re: ${target.subject}`.trim()
}

function rejected(reply: Reply, reason: string): TriviumError {
  return new TriviumError('send_rejected', { gateway: reply.gateway, reason })
}
