import { useState } from 'preact/hooks'
import { invoke, isViewer } from '../lib/api.js'
import { DecideHere } from '../lib/approval.js'
import { askReason } from '../lib/ask-reason.js'
import { eraseMessage } from '../lib/erase-message.js'
import { giveUp, mayGiveUp } from '../lib/give-up.js'
import { html } from '../lib/html.js'
import { changes } from '../lib/live.js'
import { Modal } from '../lib/modal.js'
import { MoreActions } from '../lib/more-actions.js'
import { RetryEffect } from '../lib/next-attempt.js'
import { act, Copy, useOnce } from '../lib/parts.js'
import { CancelRun, retryNow } from '../lib/pause.js'
import { retryMessage } from '../lib/retry-message.js'
import { go, link } from '../lib/router.js'
import { mayAnswer } from './answer.js'
import { senderOf } from './messages.js'

/** The possible actions. Each names its effect and asks for confirmation. */
export function Actions({ shown, reload }) {
  const { message, outcome, unanswerable } = shown
  const { id, gateway } = message
  const [form, setForm] = useState()
  const drop = async () => {
    const body = 'It is removed from the dead letters permanently. The message stays in the journal.'
    const why = await askReason({
      title: 'Drop this message?',
      body: html`<p>${body}</p>`,
      action: 'Drop',
      danger: true,
    })
    if (!why) return
    await act(async () => {
      await invoke('dead-letter-drop', { id, queue: 'dispatch', ...why })
      changes.dead.value++
      return 'It is dropped.'
    })
    reload()
  }
  const isBackingOff = outcome === 'retrying' || outcome === 'replying'
  return html`<div class="buttons">
    ${isBackingOff && html`<button changes type="button" class="primary" onClick=${() => retryNow(id).then(reload)}>Retry now</button>`}
    ${outcome === 'retrying' && html`<${RetryEffect} key=${outcome} id=${id} />`}
    ${outcome === 'approval' && html`<${DecideHere} isSelected=${(request) => request.message?.id === id} done=${reload} />`}
    ${mayGiveUp(outcome) && html`<button changes type="button" class="danger" onClick=${() => giveUp(id, outcome).then(reload)}>Give up …</button>`}
    ${outcome === 'dead' && html`<button changes type="button" class="primary" onClick=${() => retryMessage(message, reload)}>Retry …</button> <button changes type="button" class="danger" onClick=${drop}>Drop …</button>`}
    ${outcome === 'running' && html`<${CancelRun} id=${id} done=${reload} />`}
    ${!unanswerable && html`<button changes type="button" onClick=${() => setForm('answer')}>Answer …</button>`}
    <${MoreActions}>
      <button changes type="button" onClick=${() => setForm('resend')}>Edit and send again …</button>
      ${!isViewer.value && html`<a class="button" href=${link('compose', { gateway, like: id })}>Send as a test …</a>`}
      <${Copy} label="Copy as curl" text=${asCurl(message)} />
      <${Copy} label="Copy id" text=${id} />
      <button changes type="button" class="danger" onClick=${() => eraseMessage(id)}>Erase …</button>
    <//>
    ${
      form &&
      html`<${Form} kind=${form} message=${message} done=${(next) => {
        setForm(undefined)
        if (next) go(['messages', next])
        else reload()
      }} />`
    }
  </div>`
}

function Form({ kind, message, done }) {
  const isAnswer = kind === 'answer'
  const [text, setText] = useState(isAnswer ? '' : message.text)
  const [isBusy, once] = useOnce()
  const send = async () => {
    if (isAnswer && !(await mayAnswer(message))) return
    let next
    const isSent = await act(async () => {
      if (isAnswer) {
        await invoke('gateway-send', { messageId: message.id, text })
        return `Your answer is on its way to ${senderOf(message.from)}.`
      }
      next = (await invoke('message-resend', { id: message.id, ...(text !== message.text && { text }) })).id
      return 'It is accepted as a new message.'
    })
    if (isSent) done(next)
  }
  return html`<${Modal} leave=${() => done()} aria-labelledby="form-title">
    <form onSubmit=${(event) => {
      event.preventDefault()
      once(send)
    }}>
      <h2 id="form-title">${isAnswer ? `Answer ${senderOf(message.from)}` : 'Edit and send again'}</h2>
      <p class="hint">${
        isAnswer
          ? `It goes where the message came from: ${message.gateway}, as a reply of yours.`
          : 'It is accepted as a new message of the same sender and conversation, and routed as the routes are now. With another text the sender counts as not verified.'
      }</p>
      <label>Text<textarea rows="8" required=${isAnswer} value=${text} onInput=${(event) => setText(event.target.value)}></textarea></label>
      <div class="buttons"><button type="button" onClick=${() => done()}>Cancel</button><button class="primary" aria-disabled=${isBusy}>${isAnswer ? 'Send the answer' : 'Send again'}</button></div>
    </form>
  <//>`
}

function asCurl({ gateway, text, conversation, from, subject }) {
  const body = JSON.stringify({ gateway, text, conversation, from: from.id, ...(subject && { subject }) })
  return `curl -X POST ${location.origin}/v1/messages -H "authorization: Bearer $TRIVIUM_TOKEN" -H 'content-type: application/json' -d '${body.replaceAll("'", `'\\''`)}'`
}
