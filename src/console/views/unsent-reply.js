import { useState } from 'preact/hooks'
import { invoke, isViewer } from '../lib/api.js'
import { authorOf } from '../lib/authors.js'
import { html } from '../lib/html.js'
import { Age, act, Facts, Moment, useOnce } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { senderOf } from './messages.js'

/** Maximum number of characters of the reason of a settled conversation. */
const MAX_REASON = 200

/** A reply that was not delivered: to whom, what it says, and what it belongs to. */
export function UnsentReply({ letter }) {
  const { data = {}, message, mayAnswer, group: gateway } = letter
  const { to, cc, subject, text = '', by, queuedAt, attachments = [] } = data
  const address = to ?? (message?.transport === 'email' ? message.from.address : undefined)
  const recipients = [to, cc].flat().filter(Boolean)
  return html`<h2>What was not delivered</h2>
    <${Facts} of=${{
      to: recipients.length > 0 ? recipients.join(', ') : message && senderOf(message.from),
      subject,
      written:
        queuedAt &&
        html`<${Moment} at=${queuedAt} /> (<${Age} at=${queuedAt} /> ago)${by && ` by ${authorOf(by)}`}`,
      ...placesOf(message ?? mayAnswer, message !== undefined),
      files: attachments.map(({ name }) => name).join(', '),
    }} />
    <pre class="body" tabindex="0" aria-label="What was not delivered">${text || '(no text)'}</pre>
    ${address && !isViewer.value && html`<${OtherAddress} gateway=${gateway} to=${address} subject=${subject ?? answerTo(message?.subject)} text=${text} files=${attachments.length} note="; the dead letter stays until you drop it" />`}`
}

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

/**
 * Sends the text of a reply that was not delivered to another address. `conversation`: if given, it
 * is then settled, which tells everyone that the answer was sent, and to whom; then calls `done`.
 */
export function OtherAddress({ gateway, conversation, to, subject, text, files = 0, note = '', done }) {
  const [address, setAddress] = useState('')
  const [isBusy, once] = useOnce()
  const send = () =>
    act(async () => {
      await invoke('gateway-send', { gateway, to: address.trim(), text, ...(subject && { subject }) })
      setAddress('')
      if (conversation !== undefined) {
        const reason = `the answer was sent to ${address.trim()}`.slice(0, MAX_REASON)
        const failure = await invoke('conversation-settle', { gateway, conversation, reason }).catch((e) => e)
        done?.()
        // The mail is sent: an error alone would make people send it again.
        if (failure instanceof Error)
          return `It is on its way to ${address.trim()}, but the conversation could not be settled: ${failure.message}`
      }
      return `It is on its way to ${address.trim()}${note}.`
    })
  const submit = (event) => {
    event.preventDefault()
    once(send)
  }
  return html`<form class="other-address" onSubmit=${submit}>
    <label>Send it to another address<input type="text" required placeholder=${`instead of ${to}`} value=${address} onInput=${(event) => setAddress(event.target.value)} /></label>
    <button changes disabled=${isBusy}>Send there</button>
    ${files > 0 && html`<p class="warn-text">Only the text is sent, without its ${files === 1 ? 'file' : 'files'}.</p>`}
  </form>`
}
