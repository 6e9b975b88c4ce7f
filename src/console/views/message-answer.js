import { authorOf } from '../lib/authors.js'
import { html } from '../lib/html.js'
import { Age, Badge, Moment } from '../lib/parts.js'
import { isAnswerNote } from '../lib/reply-notes.js'
import { senderOf } from './messages.js'

/** Who got what a note says: the sender of the message, unless it names somebody else. */
export function recipientOf({ detail }, { from }) {
  return detail?.to ?? senderOf(from)
}

/** The last answer that was sent, by time; undefined without one. */
function lastSent(history) {
  const sent = history.filter((note) => isAnswerNote(note) && note.what === 'sent')
  return sent.toSorted((a, b) => a.at - b.at).at(-1)
}

/** `by alice`, or `by route orders`. */
function byOf({ detail }) {
  return detail?.by ? ` by ${authorOf(detail.by)}` : ''
}

/** What became of a handled message for its sender: what they were sent, and when. */
export function Fate({ shown: { message, history, unanswerable } }) {
  const sent = lastSent(history)
  if (sent && message.data?.replyTarget?.test)
    return html`<p class="now-it good">Handled on <${Moment} at=${sent.at} />${byOf(sent)}. It is a test: its reply is not sent.</p>`
  if (sent)
    return html`<p class="now-it good">Answered on <${Moment} at=${sent.at} />${byOf(sent)}: <span class="good-text">✓ sent</span> to <b>${recipientOf(sent, message)}</b>.</p>`
  const done = history.findLast(({ road, what }) => road === 'dispatch' && what === 'done')
  if (!done) return null
  return html`<p class="now-it">Handled on <${Moment} at=${done.at} />${done.detail?.route && html` by route <b>${done.detail.route}</b>`}. ${unanswerable ? 'Its sender expects no answer.' : 'No answer was sent.'}</p>`
}

/** Whether a refusal was sent: `The refusal was sent to Ada on 30 Nov, 16:41:07.` */
export function RefusalSent({ shown: { message, history }, since }) {
  const sent = lastSent(history.filter(({ at }) => at >= since))
  if (!sent) return `Nothing was sent to ${senderOf(message.from)}.`
  return html`The refusal was sent to <b>${recipientOf(sent, message)}</b> on <${Moment} at=${sent.at} />.`
}

/** The texts of the answers to a message, oldest first. */
export function Answers({ shown: { message, history } }) {
  const last = new Map()
  for (const note of history.filter(isAnswerNote)) {
    const { key = note.at } = note.detail ?? {}
    const text = note.detail?.text ?? last.get(key)?.text
    last.set(key, { ...note, text })
  }
  const answers = [...last.values()].filter(({ text }) => text)
  if (answers.length === 0) return null
  return html`<h2>${answers.length === 1 ? 'Answer' : 'Answers'}</h2>${answers.map((note) => {
    const isSent = note.what === 'sent'
    return html`<p class="dim answer-head">${authorOf(note.detail?.by) ?? 'reply'} · <${Age} at=${note.at} /> ago · ${isSent ? html`<span class="good-text">✓ sent</span>` : html`<${Badge} kind="bad">${note.what === 'dead' ? 'not delivered' : note.what}<//>`} to ${recipientOf(note, message)}</p>
      <pre class="reply" tabindex="0" aria-label="Reply">${note.text}</pre>`
  })}`
}
