import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { invoke, isViewer, openStream } from '../lib/api.js'
import { authorOf, isOwn } from '../lib/authors.js'
import { causeOf } from '../lib/cause.js'
import { html } from '../lib/html.js'
import { onKey } from '../lib/keys.js'
import { clock } from '../lib/live.js'
import { Age, act, ask, dateTime, span, useLoaded, useOnce, Wait } from '../lib/parts.js'
import { Pause, retryNow, usePause } from '../lib/pause.js'
import { PauseNote } from '../lib/pauses.js'
import { link } from '../lib/router.js'
import { Back } from '../lib/trail.js'
import { useUnsent } from '../lib/unsent.js'
import { Chat, PERSON_HINT, personOf } from './message.js'
import { senderOf } from './messages.js'

const PAGE = 50
/** Maximum number of shown messages. */
const MAX_MESSAGES = 1_000
/** States of a reply that did not arrive. */
const UNSENT = new Set(['send failed', 'dead', 'bounced', 'not delivered'])
/** Delay (ms) before new messages are loaded, as several may arrive at once. */
const RELOAD_DELAY = 400

/** A conversation as a chat: whose turn it is, who has it, and a field to answer. */
export function Conversation({ gateway, conversation }) {
  const [limit, setLimit] = useState(PAGE)
  const loaded = useLoaded(
    (signal) => invoke('conversation-show', { gateway, conversation, limit }, signal),
    [limit],
  )
  const { value, reload } = loaded
  const { pause } = usePause({ kind: 'conversation', of: { gateway, conversation }, name: conversation })
  useEffect(() => {
    let timer
    const look = () => {
      timer = undefined
      reload()
    }
    const soon = () => {
      timer ??= setTimeout(look, RELOAD_DELAY)
    }
    const close = openStream(
      { gateway, conversation, only: 'message,outcome' },
      { message: soon, outcome: soon, gap: soon, state: (isLive) => isLive && soon() },
    )
    return () => {
      close()
      clearTimeout(timer)
    }
  }, [])
  const entries = value?.entries ?? []
  const asked = entries.findLast(({ role }) => role === 'sender')
  const unsent = unsentIn(entries, asked)
  const letters = useUnsent()
  const letter = unsent?.letter ?? letters.find(({ message }) => message?.id === unsent?.inReplyTo)?.id
  useNewest(entries.length)
  return html`<section class="page conversation" aria-labelledby="title">
    <${Back} to="conversations" />
    <header class="bar"><h1 id="title">${asked ? senderOf(asked.from) : conversation} <span class="dim">in ${gateway}</span></h1>
      <div class="buttons"><${Pause} of=${{ gateway, conversation }} kind="conversation" name=${conversation} words=${['Take over', 'Hand back']} />
      ${asked && !isViewer.value && html`<a class="button" href=${link('people', { who: personOf(asked) })} title=${PERSON_HINT}>See this person</a>`}
      <a class="button" href=${link('messages', { gateway, conversation })}>Its messages</a></div></header>
    <${PauseNote} of=${pause} />
    <${Wait} of=${loaded} what="the conversation" />
    ${value?.next && limit < MAX_MESSAGES && html`<p><button type="button" onClick=${() => setLimit(Math.min(limit * 2, MAX_MESSAGES))}>Show earlier messages</button></p>`}
    ${value && html`<${Chat} entries=${entries} errorShownFor=${unsent} />`}
    ${asked && html`<div class="answering"><${Turn} of=${value} asked=${asked} unsent=${unsent} letter=${letter} reload=${reload} /><${Answer} asked=${asked} done=${reload} /></div>`}
  </section>`
}

/** Scrolls to the end of the chat, and stays there while new messages come. */
function useNewest(many) {
  const isAtEnd = useRef(true)
  useEffect(() => {
    const main = document.getElementById('main')
    const note = () => {
      isAtEnd.current = main.scrollTop + main.clientHeight > main.scrollHeight - 80
    }
    main.addEventListener('scroll', note)
    return () => main.removeEventListener('scroll', note)
  }, [])
  useLayoutEffect(() => {
    const main = document.getElementById('main')
    if (isAtEnd.current && many > 0) main.scrollTop = main.scrollHeight
  }, [many])
}

/** The last reply to `asked` that did not arrive; undefined if a later one did. */
function unsentIn(entries, asked) {
  const replies = entries.filter(
    ({ role, inReplyTo, approval }) => role === 'reply' && inReplyTo === asked?.id && !approval,
  )
  const last = replies.findLast(({ state }) => UNSENT.has(state))
  const isSettled = last?.state !== 'send failed' && replies.at(-1)?.state === 'sent'
  return isSettled ? undefined : last
}

/** Whose turn it is. `letter`: the id of the dead letter of a reply that was not delivered. */
function Turn({ of: { waitingSince, reply }, asked, unsent, letter, reload }) {
  if (unsent)
    return html`<p class="now-it warn">The ${unsent.letter ? `mail to ${unsent.to}` : 'reply'}${unsent.by && ` by ${authorOf(unsent.by)}`} ${unsent.state === 'send failed' ? 'cannot be sent' : 'was not delivered'}: ${causeOf(unsent.error ?? 'the reason is not known').replace(/[.\s]+$/, '')}.${letter && html` <a href=${link(['dead-letters', letter], { queue: 'outbox' })}>See the dead letter</a>`}${unsent.nextAt > clock.value && html` The next attempt begins in <b>${span(unsent.nextAt - clock.value)}</b>. <button changes type="button" class="small" onClick=${() => retryNow(asked.id).then(reload)}>Retry now</button>`}</p>`
  if (waitingSince !== undefined)
    return html`<p class="now-it warn"><b>${senderOf(asked.from)}</b> has waited for an answer for <${Age} at=${waitingSince} />.</p>`
  if (reply)
    return html`<p class="now-it">Answered${reply.by && ` by ${authorOf(reply.by)}`} <${Age} at=${reply.at} /> ago.</p>`
  return null
}

/** Asks first if a colleague has taken over the conversation, also since the page was loaded. */
async function mayAnswer({ gateway, conversation }) {
  const args = { gateway, conversation, limit: 1 }
  const { heldBy } = await invoke('conversation-show', args).catch(() => ({}))
  if (!heldBy || isOwn(heldBy.by)) return true
  const holder = authorOf(heldBy.by) ?? 'Somebody'
  const body = html`<p>${holder} took it over on ${dateTime(heldBy.since)}${heldBy.reason && html`: <span class="said-reason">${heldBy.reason}</span>`}. Two answers may contradict each other.</p>`
  return ask({ title: `${holder} has this conversation. Send anyway?`, body, action: 'Send anyway' })
}

function Answer({ asked, done }) {
  const [text, setText] = useState('')
  const [isBusy, once] = useOnce()
  const send = async () => {
    if (text.trim() === '' || !(await mayAnswer(asked))) return
    const isSent = await act(async () => {
      await invoke('gateway-send', { messageId: asked.id, text })
      return `Your answer is on its way to ${senderOf(asked.from)}.`
    })
    if (!isSent) return
    setText('')
    done()
    // By then the answer is sent, or the reason for its delay is known.
    setTimeout(done, 1_000)
  }
  const submit = (event) => {
    event.preventDefault()
    once(send)
  }
  const field = useRef()
  useEffect(() => onKey('r', 'answer', () => field.current?.focus()), [])
  const press = (event) => {
    if (event.key === 'Escape') field.current.blur()
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit(event)
  }
  return html`<form class="answer" onSubmit=${submit}>
    <label>Answer ${senderOf(asked.from)} by hand<textarea ref=${field} rows="2" required value=${text} onKeyDown=${press} onInput=${(event) => setText(event.target.value)}></textarea></label>
    <div class="buttons"><span class="dim wide"><kbd>r</kbd> goes here, <kbd>Ctrl</kbd> <kbd>Enter</kbd> sends it.</span><button changes class="primary" disabled=${isBusy}>Send the answer</button></div>
  </form>`
}
