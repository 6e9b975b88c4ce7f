import { useState } from 'preact/hooks'
import { invoke, isViewer } from '../lib/api.js'
import { authorOf } from '../lib/authors.js'
import { html } from '../lib/html.js'
import { Age, act, Facts, Moment, useOnce } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { mayAnswer } from './answer.js'
import { senderOf } from './messages.js'

/** A reply that was not delivered: to whom, what it says, and what it belongs to. */
export function UnsentReply({ letter }) {
  const { data = {}, message, mayAnswer: mayBeAnswered, group: gateway } = letter
  const { to, cc, subject, text = '', by, queuedAt, attachments = [] } = data
  const address = to ?? (message?.transport === 'email' ? message.from.address : undefined)
  const recipients = [to, cc].flat().filter(Boolean)
  const answered = message ?? mayBeAnswered
  return html`<h2>What was not delivered</h2>
    <${Facts} of=${{
      to: recipients.length > 0 ? recipients.join(', ') : message && senderOf(message.from),
      subject,
      written:
        queuedAt &&
        html`<${Moment} at=${queuedAt} /> (<${Age} at=${queuedAt} /> ago)${by && ` by ${authorOf(by)}`}`,
      ...placesOf(answered, message !== undefined),
      files: attachments.map(({ name }) => name).join(', '),
    }} />
    <pre class="body" tabindex="0" aria-label="What was not delivered">${text || '(no text)'}</pre>
    ${address && !isViewer.value && html`<${OtherAddress} gateway=${gateway} to=${address} subject=${subject ?? answerTo(message?.subject)} text=${text} files=${attachments.length} answers=${mailOf(answered)} may=${answered && (() => mayAnswer(answered))} drop=${() => LETTER_STAYS} />`}`
}

/** The id of a message, if it is a mail. */
const mailOf = (about) => (about?.transport === 'email' ? about.id : undefined)

/** The subject of an answer. */
export const answerTo = (subject) => subject && (/^re:/i.test(subject) ? subject : `Re: ${subject}`)

/** Links to the message that the reply answers, or may answer, and to its conversation. */
function placesOf(about, isAnswer) {
  if (!about) return {}
  const { id, gateway, conversation, subject, text = '' } = about
  return {
    [isAnswer ? 'answers' : 'last message']:
      html`<a href=${link(['messages', id])}>${subject ?? (text.split('\n')[0].slice(0, 80) || id)}</a>`,
    conversation: html`<a href=${link(['conversations', gateway, conversation])}>${conversation}</a>`,
  }
}

/** How long (ms) to wait for the answer of the mail server. */
const SEND_TIME = 10_000

/**
 * Sends the text of a reply that was not delivered to another address: as an answer to the message
 * `answers`, so that its conversation shows it. `may`: asks before, if needed. `drop`: removes what
 * was not delivered, once the mail is sent; returns what to say if it stays. Then calls `done`.
 */
export function OtherAddress({ gateway, answers, to, subject, text, files = 0, may, drop, done }) {
  const [address, setAddress] = useState('')
  const [isBusy, once] = useOnce()
  const send = async () => {
    const at = address.trim()
    if (may && !(await may())) return
    await act(async () => {
      const mail = { to: at, text, ...(subject && { subject }), wait: SEND_TIME }
      const { sent } = await sendAs(mail, { gateway, answers })
      setAddress('')
      if (!sent) return `It is on its way to ${at}; ${LETTER_STAYS}.`
      const kept = await drop()
      return `It was sent to ${at}${kept ? `; ${kept}` : ''}.`
    })
    done?.()
  }
  const submit = (event) => {
    event.preventDefault()
    once(send)
  }
  return html`<form class="other-address" onSubmit=${submit}>
    <label>Send it to another address<input type="text" required placeholder=${`instead of ${to}`} value=${address} onInput=${(event) => setAddress(event.target.value)} /></label>
    <button changes class="primary" aria-disabled=${isBusy}>Send there</button>
    ${files > 0 && html`<p class="warn-text">Only the text is sent, without its ${files === 1 ? 'file' : 'files'}.</p>`}
  </form>`
}

/** Sends a mail as an answer to a message, unless that is no longer stored. */
async function sendAs(mail, { gateway, answers }) {
  if (answers === undefined) return invoke('gateway-send', { gateway, ...mail })
  return invoke('gateway-send', { messageId: answers, ...mail }).catch((error) => {
    if (error.code !== 'message_not_found') throw error
    return invoke('gateway-send', { gateway, ...mail })
  })
}

const LETTER_STAYS = 'the dead letter stays until you drop it'

/** Maximum number of dead letters of replies to one message. */
const MAX_LETTERS = 200

/**
 * Drops the dead letters of a reply that was sent to another address, also of earlier tries with
 * the same text. `entries`: those of its conversation. A letter with files stays, as these were not
 * sent. Returns what to say if one stays.
 */
export async function dropSent({ inReplyTo, text }, entries) {
  const isSame = (one) => one.inReplyTo === inReplyTo && one.text === text
  // A mail that was not sent as an answer is not among the letters of the message.
  const mails = entries.filter((one) => one.letter && isSame(one)).map(({ letter }) => letter)
  try {
    const [replies, ...ofMails] = await Promise.all([
      invoke('dead-letter-list', { queue: 'outbox', message: inReplyTo, limit: MAX_LETTERS }),
      ...mails.map((id) => invoke('dead-letter-show', { id, queue: 'outbox' })),
    ])
    const all = [...replies.filter(({ data }) => data && isSame(data)), ...ofMails]
    const own = [...new Map(all.map((letter) => [letter.id, letter])).values()]
    const withFiles = own.filter(({ data }) => data?.attachments?.length > 0)
    for (const { id, queue } of own.filter((letter) => !withFiles.includes(letter)))
      await invoke('dead-letter-drop', { id, queue })
    return withFiles.length > 0 ? `${LETTER_STAYS}, because its files were not sent` : undefined
  } catch {
    return LETTER_STAYS
  }
}
