import { useState } from 'preact/hooks'
import { patternOf } from '../../lib/error-pattern.ts'
import { invoke } from '../lib/api.js'
import { askReason } from '../lib/ask-reason.js'
import { authorOf } from '../lib/authors.js'
import { causeOf } from '../lib/cause.js'
import { html } from '../lib/html.js'
import { changes } from '../lib/live.js'
import { Age, act, ask, Facts, Json, Moment, preview, useLoaded, useOnce, Wait } from '../lib/parts.js'
import { reportRetry } from '../lib/retry.js'
import { go, goBack, link } from '../lib/router.js'
import { Back } from '../lib/trail.js'
import { CauseOwner } from './cause-owner.js'
import { SameError } from './same-error.js'
import { UnsentReply } from './unsent-reply.js'

const errorOf = ({ errors, reason }) => errors.at(-1)?.message ?? reason

function gatewayLink(name) {
  return html`<a href=${link(['gateways', name])}>${name}</a>`
}

function senderOf({ name, address, id } = {}) {
  return name && address ? `${name} <${address}>` : name || address || id
}

const REASONS_OF = {
  attempts: 'after all its attempts',
  permanent: 'as the error is permanent',
  ambiguous: 'as it may have arrived',
}

function attemptItem({ at, code, message, stack }) {
  return html`<li class="bad"><div class="when"><${Moment} at=${at} /></div>
    <div><code>${code}</code><p class="error">${message}</p>${stack && html`<details><summary>Stack</summary><pre tabindex="0">${stack}</pre></details>`}</div></li>`
}

/** One dead letter: its message, each attempt with its error, and the possible actions. */
export function Letter({ id, from }) {
  const loaded = useLoaded((signal) => invoke('dead-letter-show', { id, ...from }, signal), [id])
  const { value: letter } = loaded
  const [text, setText] = useState()
  const [isBusy, once] = useOnce()
  const back = html`<${Back} to="dead-letters" />`
  if (!letter)
    return html`<section class="page">${back}<${Wait} of=${loaded} what="the dead letter" /></section>`
  const { message, errors, firstErrors = [], queue, group, reason, lane, at, firstAt = at } = letter
  const isReply = queue === 'outbox'
  const of = { queue, group, code: errors.at(-1)?.code ?? reason, pattern: patternOf(errorOf(letter)) }
  const quoted = `“${preview(isReply ? (letter.data?.text ?? id) : (message?.text ?? id)).slice(0, 120)}”`
  const decide = async (verb, question) => {
    const why = verb === 'drop' ? await askReason(question) : (await ask(question)) && {}
    if (!why) return
    const began = Date.now()
    const isDone = await act(async () => {
      // An event pushed to several subscriptions has a dead letter in each, with the same id.
      await invoke(`dead-letter-${verb}`, { id, queue, ...why })
      changes.dead.value++
      return verb === 'retry' ? 'It is being retried.' : 'It is dropped.'
    })
    if (isDone && verb === 'retry')
      void reportRetry({ of, began, many: 1, isWanted: (each) => each.id === id, letters: [{ id, queue }] })
    if (isDone) goBack('dead-letters')
  }
  const resend = () =>
    act(async () => {
      const next = await invoke('message-resend', { id, ...(text !== message.text && { text }) })
      go(['messages', next.id])
      return 'It is accepted as a new message; the dead letter stays until you drop it.'
    })
  return html`<section class="page" aria-labelledby="title">
    ${back}
    <header class="bar"><h1 id="title">${causeOf(errorOf(letter))}</h1>
      <div class="buttons">
        <button changes type="button" class="primary" onClick=${() => decide('retry', { title: 'Retry this dead letter?', body: `It goes back to the end of its lane, with fresh attempts: ${quoted}`, action: 'Retry' })}>Retry …</button>
        <button changes type="button" class="danger" onClick=${() => decide('drop', { title: 'Drop this dead letter?', body: html`<p>It is removed permanently: ${quoted}</p>`, action: 'Drop', danger: true })}>Drop …</button>
      </div></header>
    <${CauseOwner} of=${of} />
    <p><${SameError} of=${of} /></p>
    <${Facts} of=${{
      id:
        message && queue === 'dispatch'
          ? html`<a href=${link(['messages', id])}>${id}</a>`
          : html`<code>${id}</code>`,
      died: html`<${Moment} at=${firstAt} /> (<${Age} at=${firstAt} /> ago), ${REASONS_OF[reason] ?? reason}`,
      retried:
        letter.retriedAt !== undefined &&
        html`<${Age} at=${letter.retriedAt} /> ago${letter.retriedBy && ` by ${authorOf(letter.retriedBy)}`}, and failed again`,
      queue,
      [isReply ? 'gateway' : 'route']: group,
      ...(message && !isReply && { gateway: gatewayLink(message.gateway), from: senderOf(message.from) }),
      message: message && html`<a href=${link(['messages', message.id])}>See the message</a>`,
      ...(message && queue === 'dispatch'
        ? {
            conversation: html`<a href=${link(['conversations', message.gateway, message.conversation])}>${message.conversation}</a>`,
          }
        : !isReply && { lane }),
    }} />
    ${reason === 'ambiguous' && html`<p class="problem">It may have arrived: look there before a retry.</p>`}
    ${isReply && html`<${UnsentReply} letter=${letter} />`}
    <h2>Attempts</h2>
    <ol class="timeline">${firstErrors.map(attemptItem)}${
      firstErrors.length > 0 &&
      html`<li><div class="when"><${Moment} at=${letter.retriedAt} /></div><div>Retried${letter.retriedBy && ` by ${authorOf(letter.retriedBy)}`}</div></li>`
    }${errors.map(attemptItem)}</ol>
    ${
      message && queue === 'dispatch'
        ? html`<h2>Edit and send again</h2>
          <p class="hint">As a new message of the same sender and conversation. With another text the sender counts as not verified.</p>
          <textarea rows="6" aria-label="Text" value=${text ?? message.text} onInput=${(event) => setText(event.target.value)}></textarea>
          <div class="buttons"><button changes type="button" aria-disabled=${isBusy} onClick=${() => once(resend)}>Send again</button></div>`
        : isReply
          ? html`<details><summary>The whole record</summary><${Json} value=${letter.data} label="Data" /></details>`
          : html`<h2>What was to be delivered</h2><${Json} value=${letter.data} label="Data" />`
    }
  </section>`
}
