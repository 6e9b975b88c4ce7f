import type { SendMailOptions } from 'nodemailer'
import type { Artifacts, Reply } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { bareSubject, prefixOf } from '../inbound/subject.ts'
import type { EmailOptions } from '../options.ts'
import { type ReplyTarget, replyTargetSchema } from '../reply-target.ts'
import { markOf, messageIdOf } from '../sent-log.ts'
import { answerSubject, invitedTo } from './calendar-answer.ts'
import { renderMarkdown } from './markdown.ts'
import { recipientsOf } from './recipients.ts'
import { childIndex, isThreadIndex } from './thread-index.ts'

/** A composed mail. `target`: the answered mail; undefined for mail to an explicit address. */
export type Outgoing = ReturnType<typeof compose>

const MAX_SUBJECT = 500
/**
 * Maximum characters of a subject that is the first line of the text: the usual length of a line
 * (RFC 5322, section 2.1.1).
 */
const MAX_FIRST_LINE = 78
/**
 * Message ids for References (RFC 5322, section 3.6.4). Some have no `@` but still work for
 * threading.
 */
const MESSAGE_ID = /^<[!-;=?-~]{1,500}>$/

/**
 * Composes a reply so that clients thread it (RFC 5322, section 3.6.4) and machines do not answer
 * it (RFC 3834, section 3.1.7). Throws `send_rejected` without recipients.
 */
export function compose(reply: Reply, options: EmailOptions) {
  const answered = replyTargetSchema.safeParse(reply.target).data
  // At another address, there is no thread to continue.
  const target = reply.to === undefined ? answered : undefined
  const { to, cc, bcc } = recipientsOf(reply, target, options)
  const invited = invitedTo(reply, target)
  const mark = markOf(reply.gateway, reply.key)
  const messageId = messageIdOf(mark, options.address)
  const references = target?.references.filter((id) => MESSAGE_ID.test(id)) ?? []
  const answer = invited && reply.calendar ? answerSubject(reply.calendar, invited) : undefined
  const { html, text } = renderMarkdown(reply.text.trim() === '' && answer ? answer : reply.text)
  const recipients = [...to, ...cc, ...bcc].map(({ address }) => address)
  return {
    mark,
    messageId,
    /** The first recipient. */
    to: to[0]?.address ?? '',
    /** All addresses. */
    recipients,
    target,
    invited,
    mail: {
      messageId,
      from: options.name ? { name: options.name, address: options.address } : options.address,
      // As a string, an address with a quoted part would be parsed as a list.
      to: to.length === 1 && to[0] ? to[0] : to,
      subject: subjectOf(reply, answered, answer ?? text, answer !== undefined),
      text,
      html,
      ...defined({
        cc: cc.length > 0 ? cc : undefined,
        replyTo: options['reply-to'],
        inReplyTo: MESSAGE_ID.test(target?.messageId ?? '') ? target?.messageId : undefined,
      }),
      references,
      headers: {
        'Auto-Submitted': target ? 'auto-replied' : 'auto-generated',
        'X-Auto-Response-Suppress': 'OOF, AutoReply',
        ...threadOf(target, mark),
      },
      // Bcc recipients appear only in the envelope.
      envelope: { from: options.address, to: recipients },
      // Servers with DSN support (RFC 3461) return this id in bounces, even if they drop our
      // headers.
      dsn: {
        id: `trivium.${mark}`,
        return: 'headers',
        notify: ['failure', 'delay'],
        ...(recipients.length === 1 ? { recipient: `rfc822;${recipients[0]}` } : {}),
      },
      // A skill's text must not be able to attach local files.
      disableFileAccess: true,
      disableUrlAccess: true,
    } satisfies SendMailOptions,
  }
}

/**
 * Headers that Outlook and Exchange use for threading instead of References. They are the same in
 * all attempts, because the mark gives their random byte.
 */
function threadOf(target: ReplyTarget | undefined, mark: string): Record<string, string> {
  if (!isThreadIndex(target?.threadIndex)) return {}
  const topic = bareSubject(target?.subject ?? '').slice(0, MAX_SUBJECT)
  return {
    'Thread-Index': childIndex(target.threadIndex, target.at, Number.parseInt(mark.slice(0, 2), 16)),
    'Thread-Topic': topic,
  }
}

/**
 * Opens the attachments of a reply. Each copy of a mail needs its own, because a stream can be read
 * only once.
 */
export function attachmentsOf({ attachments = [] }: Reply, artifacts: Artifacts) {
  return Promise.all(
    attachments.map(async ({ name: filename, type: contentType, sha256 }) => {
      return { filename, contentType, content: await artifacts.open(sha256) }
    }),
  )
}

function subjectOf(reply: Reply, target: ReplyTarget | undefined, text: string, isAnswer: boolean): string {
  const chosen = reply.subject?.replaceAll(/\s+/g, ' ').trim()
  if (chosen) return chosen.slice(0, MAX_SUBJECT)
  if (isAnswer) return text.slice(0, MAX_SUBJECT)
  if (!target) return text.split('\n', 1)[0]?.slice(0, MAX_FIRST_LINE).trim() || '(no subject)'
  const subject = target.subject.slice(0, MAX_SUBJECT)
  return prefixOf(subject) === 'reply' ? subject : `Re: ${subject}`.trim()
}
