import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { invoke, isViewer, openStream } from '../lib/api.js'
import { html } from '../lib/html.js'
import { Copy, useLoaded, Wait } from '../lib/parts.js'
import { Pause, usePause } from '../lib/pause.js'
import { PauseNote } from '../lib/pauses.js'
import { personOf } from '../lib/person-identity.js'
import { link } from '../lib/router.js'
import { Back } from '../lib/trail.js'
import { useUnsent } from '../lib/unsent.js'
import { AboutSender } from './about-sender.js'
import { Chat } from './chat.js'
import { PERSON_HINT } from './message.js'
import { senderOf } from './messages.js'
import { withNotes } from './note.js'
import { Answering } from './turn.js'

const PAGE = 50
/** Maximum number of shown messages. */
const MAX_MESSAGES = 1_000
/** States of a reply that did not arrive. */
const UNSENT = new Set(['send failed', 'dead', 'bounced', 'not delivered'])
/** Events of a person who does something on the page. */
const ACTIONS = ['wheel', 'pointerdown', 'keydown', 'touchmove']
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
  // Who takes over or hands back is in the chat.
  const isFirst = useRef(true)
  useEffect(() => {
    if (!isFirst.current) reload()
    isFirst.current = false
  }, [pause?.since, pause?.by, pause?.until])
  const entries = value?.entries ?? []
  const asked = entries.findLast(({ role }) => role === 'sender')
  const unsent = value?.settled ? undefined : unsentIn(entries, asked)
  // A mail names its dead letter.
  const [newest] = useUnsent({ gateway, message: (!unsent?.letter && unsent?.inReplyTo) || false })
  const letter = unsent?.letter ?? newest?.id
  const shown = value ? withNotes(value) : []
  useNewest(shown.length)
  const title = titleOf(asked, { gateway, conversation })
  useEffect(() => {
    document.title = `${title} in ${gateway} · Trivium`
  }, [title])
  return html`<div class="beside"><section class="page conversation" aria-labelledby="title">
    <${Back} to="conversations" />
    <header class="bar"><div class="heading"><div class="title-line"><h1 id="title">${title} <span class="dim">in ${gateway}</span></h1>
      <${Pause} of=${{ gateway, conversation }} kind="conversation" name=${conversation} label=${title} words=${['Take over', 'Hand back']} isLeft /></div>
      <p class="conversation-id dim"><code>${conversation}</code> <${Copy} text=${conversation} label="Copy id" /></p></div>
      <div class="buttons">${asked && !isViewer.value && html`<a class="button" href=${link('people', { who: personOf(asked) })} title=${PERSON_HINT}>See this person</a>`}
      <a class="button" href=${link('messages', { gateway, conversation })}>Its messages</a></div></header>
    <${PauseNote} of=${pause} />
    <${Wait} of=${loaded} what="the conversation" />
    ${value?.next && limit < MAX_MESSAGES && html`<p><button type="button" onClick=${() => setLimit(Math.min(limit * 2, MAX_MESSAGES))}>Show earlier messages</button></p>`}
    ${value && html`<${Chat} entries=${shown} turn=${value} errorShownFor=${unsent} reload=${reload} />`}
    ${asked && html`<${Answering} of=${value} asked=${asked} unsent=${unsent} letter=${letter} reload=${reload} />`}
  </section>
  <${AboutSender} entries=${entries} gateway=${gateway} conversation=${conversation} /></div>`
}

/** Transports whose conversations are about a thing, such as an order. */
const OF_THINGS = new Set(['webhook', 'bullmq'])

/** The sender of the newest message; for webhooks and queues, the thing that it is about. */
function titleOf(asked, { gateway, conversation }) {
  if (!asked) return conversation
  if (!OF_THINGS.has(asked.transport)) return senderOf(asked.from)
  const { id, event, subject, summary } = asked
  const name = conversation.startsWith(`${gateway}:`) ? conversation.slice(gateway.length + 1) : conversation
  // A delivery without a conversation of its own has its id as conversation.
  const thing = conversation === id ? (subject ?? summary?.slice(0, 60)) : name
  return [thing, event].filter(Boolean).join(' · ') || senderOf(asked.from)
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
  const toEnd = () => {
    const main = document.getElementById('main')
    if (isAtEnd.current) main.scrollTop = main.scrollHeight
  }
  useLayoutEffect(() => {
    if (many > 0) toEnd()
  }, [many])
  useLayoutEffect(() => {
    const main = document.getElementById('main')
    // A note or an error may arrive after the messages. Once the person does something, what grows
    // may be what they have opened.
    const observer = new ResizeObserver(toEnd)
    const stop = () => observer.disconnect()
    observer.observe(main.firstElementChild)
    for (const event of ACTIONS) main.addEventListener(event, stop)
    return () => {
      stop()
      for (const event of ACTIONS) main.removeEventListener(event, stop)
    }
  }, [])
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
