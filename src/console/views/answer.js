import { useLayoutEffect, useRef } from 'preact/hooks'
import { invoke } from '../lib/api.js'
import { authorOf, isOwn } from '../lib/authors.js'
import { useDraft } from '../lib/drafts.js'
import { html } from '../lib/html.js'
import { onKey } from '../lib/keys.js'
import { act, ask, dateTime, useOnce, Words } from '../lib/parts.js'
import { link, route } from '../lib/router.js'
import { count } from '../lib/troubles.js'
import { senderOf } from './messages.js'

/** Maximum number of waiting approvals that are looked at. */
const MAX_APPROVALS = 1_000

/** The field to answer `asked`, or why an answer is not possible and what to do. */
export function Answer({ of: { unanswerable }, asked, done }) {
  if (unanswerable)
    return html`<p class="now-it no-answer">You cannot answer here: <${Words} text=${unanswerable} />. <a href=${link(['gateways', asked.gateway])}>See the gateway</a></p>`
  return html`<${AnswerForm} asked=${asked} done=${done} />`
}

function AnswerForm({ asked, done }) {
  const [text, setText] = useDraft('answer', asked.gateway, asked.conversation)
  const [isBusy, once] = useOnce()
  const field = useRef()
  const send = async () => {
    if (text.trim() === '' || !(await mayAnswer(asked))) return
    const isSent = await act(async () => {
      await invoke('gateway-send', { messageId: asked.id, text })
      return `Your answer is on its way to ${senderOf(asked.from)}.`
    })
    if (!isSent) return
    setText('')
    // `j` then opens the next conversation of the list.
    field.current?.blur()
    done()
    // By then the answer is sent, or the reason for its delay is known.
    setTimeout(done, 1_000)
  }
  const submit = (event) => {
    event.preventDefault()
    once(send)
  }
  useLayoutEffect(() => onKey('r', 'answer', () => field.current?.focus()), [])
  // As chosen in the palette.
  useLayoutEffect(() => {
    if (route.peek().query.do === 'answer') field.current?.focus()
  }, [])
  const press = (event) => {
    if (event.key === 'Escape') field.current.blur()
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit(event)
  }
  return html`<form class="answer" onSubmit=${submit}>
    <label>Answer ${senderOf(asked.from)} by hand<textarea ref=${field} rows="2" required value=${text} onKeyDown=${press} onInput=${(event) => setText(event.target.value)}></textarea></label>
    <div class="buttons"><span class="dim wide"><kbd>r</kbd> goes here, <kbd>Ctrl</kbd> <kbd>Enter</kbd> sends it.</span><button changes class="primary" aria-disabled=${isBusy}>Send the answer</button></div>
  </form>`
}

/**
 * Asks before an answer that may contradict another one: a colleague has taken over the
 * conversation, or an approval waits in it, also since the page was loaded.
 */
export async function mayAnswer({ gateway, conversation, from }) {
  const place = { gateway, conversation }
  const [{ heldBy }, requests] = await Promise.all([
    invoke('conversation-show', { ...place, limit: 1 }).catch(() => ({})),
    invoke('approval-list', { status: 'pending', limit: MAX_APPROVALS }).catch(() => []),
  ])
  const waiting = requests.filter(
    ({ message }) => message?.gateway === gateway && message.conversation === conversation,
  )
  const holder = heldBy && !isOwn(heldBy.by) ? (authorOf(heldBy.by) ?? 'Somebody') : undefined
  if (!holder && waiting.length === 0) return true
  const approvals = waiting.length === 1 ? 'An approval waits' : `${count(waiting.length, 'approval')} wait`
  const title = holder ? `${holder} has this conversation` : `${approvals} in this conversation`
  const body = html`${holder && html`<p>${holder} took it over on ${dateTime(heldBy.since)}${heldBy.reason && html`: <span class="said-reason">${heldBy.reason}</span>`}. Two answers may contradict each other.</p>`}
    ${
      waiting.length > 0 &&
      html`<p>${holder && `${approvals} here. `}After the decision, ${senderOf(from)} gets another answer: the result, or the reason of a denial.</p>
      <ul class="plain">${waiting.map(({ id, title }) => html`<li key=${id}><a href=${link('approvals', { id })}>${title}</a></li>`)}</ul>`
    }`
  return ask({ title: `${title}. Send anyway?`, body, action: 'Send anyway' })
}

/** Sets the height of an element for the style: notices are shown above it. */
export function useRoomForNotices() {
  const box = useRef()
  useLayoutEffect(() => {
    const { style } = document.documentElement
    const measure = () => style.setProperty('--answering', `${box.current?.offsetHeight ?? 0}px`)
    const observer = new ResizeObserver(measure)
    if (box.current) observer.observe(box.current)
    return () => {
      observer.disconnect()
      style.removeProperty('--answering')
    }
  }, [])
  return box
}
