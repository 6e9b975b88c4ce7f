import { useState } from 'preact/hooks'
import { isViewer } from '../lib/api.js'
import { DecideHere } from '../lib/approval.js'
import { useAttempt } from '../lib/attempts.js'
import { authorOf } from '../lib/authors.js'
import { causeOf } from '../lib/cause.js'
import { Held, isHeld } from '../lib/held.js'
import { html } from '../lib/html.js'
import { Age, Badge, Empty, fullTime, Outcome, Words } from '../lib/parts.js'
import { retryMessage } from '../lib/retry-message.js'
import { link } from '../lib/router.js'
import { count } from '../lib/troubles.js'
import { senderOf } from './messages.js'
import { Handover, Note } from './note.js'

/** Outcomes that the entries after the message show. */
const QUIET = new Set(['done', 'undelivered'])
/** Names of the states of a reply. */
const STATES = { dead: 'not delivered', bounced: 'came back' }

/**
 * Messages on the left, replies and notes on the right, and requests for approvals between them.
 * `here`: the message whose page this is. `turn`: whose turn it is in the conversation.
 * `errorShownFor`: the reply whose error is shown elsewhere.
 */
export function Chat({ entries, here, turn = {}, errorShownFor, reload }) {
  const answered = new Set(
    entries
      .filter(({ role, state }) => role === 'reply' && state === 'sent')
      .map(({ inReplyTo }) => inReplyTo),
  )
  if (entries.length === 0) return html`<${Empty} title="None of its messages is stored any more." />`
  return html`<ol class="chat">${entries.map((entry, at) => {
    const isError = entry !== errorShownFor && entry.inReplyTo !== here
    return html`${startsDay(entry, entries[at - 1]) && html`<li key=${`day ${at}`} class="day"><time datetime=${new Date(entry.at).toISOString()}>${dayOf(entry.at)}</time></li>`}
    ${
      entry.role === 'note'
        ? html`<${Note} key=${entry.id} of=${entry} when=${html`<${When} at=${entry.at} />`} reload=${reload}><${EntryText} of=${entry} /><//>`
        : entry.role === 'handover'
          ? html`<${Handover} key=${`handover ${entry.at} ${entry.isEnd}`} of=${entry} when=${html`<${When} at=${entry.at} />`} />`
          : entry.approval
            ? html`<${Request} key=${at} of=${entry} asked=${entries.find(({ id }) => id === entry.inReplyTo)} canDecide=${!here && !isViewer.value} reload=${reload} />`
            : entry.role === 'reply'
              ? html`<${Reply} key=${at} of=${entry} isErrorShown=${isError} isToHere=${here && entry.inReplyTo === here} />`
              : html`<${Received} key=${at} of=${entry} here=${here} isAnswered=${answered.has(entry.id)} isWithheld=${isHeld(entry.outcome, turn)} before=${subjectBefore(entries, at)} reload=${reload} />`
    }`
  })}</ol>`
}

function Received({ of: entry, here, isAnswered, isWithheld, before, reload }) {
  const { id, outcome, subject, files } = entry
  // The reply below says whether it was delivered.
  const isHere = here !== undefined && id === here
  const isOutcomeShown = !isHere && !QUIET.has(outcome) && !(outcome === 'unrouted' && isAnswered)
  return html`<li class=${`sender ${isHere ? 'here' : ''}`}>
    <p class="who">${isHere ? html`${senderOf(entry.from)} · <b>this message</b>` : html`<a href=${link(['messages', id])}>${senderOf(entry.from)}</a>`} · <${When} at=${entry.at} />${isWithheld ? html` <${Held} />` : isOutcomeShown && html` <${Outcome} outcome=${outcome} />`}</p>
    ${subject && bare(subject) !== bare(before) && html`<p class="subject">${subject}</p>`}
    <${EntryText} of=${entry} />
    ${files > 0 && html`<p class="dim"><a href=${link(['messages', id])}>${count(files, 'file')}</a></p>`}
    ${!here && (outcome === 'dead' || outcome === 'retrying') && html`<${WhyFailed} of=${entry} />`}
    ${!here && outcome === 'dead' && html`<p class="buttons"><button changes type="button" class="small" onClick=${() => retryMessage(entry, reload)}>Retry …</button> <a href=${link(['dead-letters', id], { queue: 'dispatch' })}>See the dead letter</a></p>`}
  </li>`
}

/** Why the last attempt on a message failed. */
function WhyFailed({ of }) {
  const attempt = useAttempt(of)
  return attempt?.error && html`<p class="error">${causeOf(attempt.error)}</p>`
}

function Reply({ of: entry, isErrorShown, isToHere }) {
  const { at, by, state, to, subject, letter, error, sentAt } = entry
  return html`<li class=${`reply ${isToHere ? 'to-here' : ''}`}>
    <p class="who">${authorOf(by) ?? 'reply'} · <${When} at=${at} />
      ${state === 'sent' && html` <span class="sent" title="The gateway has sent it">✓ sent${sentAt && html` <time title=${fullTime(sentAt)}>${timeIn(sentAt)}</time>`}</span>`}
      ${to && html` to ${to}${subject && html`: <b>${subject}</b>`}`}
      ${state && state !== 'sent' && html` <${Badge} kind="bad">${STATES[state] ?? state}<//>`}</p>
    <${EntryText} of=${entry} />
    ${error && isErrorShown && html`<p class="error"><${Words} text=${causeOf(error)} />${letter && html` <a href=${link(['dead-letters', letter], { queue: 'outbox' })}>See the dead letter</a>`}</p>`}
  </li>`
}

/**
 * A request for an approval, which is no answer, with its decision or the buttons to decide. The page
 * of a message has these elsewhere.
 */
function Request({ of: { at, approval, text, state, to, decision }, asked, canDecide, reload }) {
  return html`<li class="request"><p>Approval asked for at <${When} at=${at} />: <a href=${link('approvals', { id: approval })}>${text.split('\n')[0] || approval}</a>${state === 'sent' && html` <span class="dim" title="The question stands in the conversation, where its sender can read it">· sent to ${to ?? (asked ? senderOf(asked.from) : 'the conversation')}</span>`}</p>
    ${decision ? html`<${Decision} of=${decision} />` : html`<p><b class="warn-text">Waits for a decision.</b> ${canDecide && html`<${DecideHere} isSelected=${({ id }) => id === approval} done=${reload} />`}</p>`}
  </li>`
}

/** `Denied by root@vm, 16:41: too late`. */
function Decision({ of: { status, at, by, reason } }) {
  const word = { approved: 'Approved', denied: 'Denied', expired: 'Expired' }[status] ?? status
  return html`<p><b>${word}</b>${by ? ` by ${authorOf(by)}` : ', as nobody decided in time'}, <${When} at=${at} />${reason && html`: <span class="said-reason">${reason}</span>`}</p>`
}

/** The time of day, and the age. The line of the day has the date. */
function When({ at }) {
  return html`<time datetime=${new Date(at).toISOString()} title=${fullTime(at)}>${timeIn(at)}</time> · <${Age} at=${at} /> ago`
}

const TIME = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const timeIn = (at) => TIME.format(at)

/** Whether an entry is the first of its day. */
function startsDay({ at }, before) {
  return before === undefined || dayOf(before.at) !== dayOf(at)
}

const DAY = new Intl.DateTimeFormat('en-GB', { weekday: 'long', day: 'numeric', month: 'long' })
const dayOf = (at) => DAY.format(at)

/** The subject of the last message of the sender before an entry. */
function subjectBefore(entries, at) {
  return entries.slice(0, at).findLast(({ role }) => role === 'sender')?.subject
}

/** A subject without marks of replies. */
const bare = (subject) => subject?.replace(/^(\s*(re|aw|sv|fwd?|wg):)+\s*/i, '')

/** At first, a text of more than `from` characters is cut to `shown`. */
const LONG = { from: 1_500, shown: 900 }

/** What an entry says. A long text is folded. */
function EntryText({ of: { summary, text } }) {
  const [isWhole, setWhole] = useState(false)
  const said = (summary && /^\s*[[{]/.test(text) ? summary : text) || '(no text)'
  if (isWhole || said.length <= LONG.from) return html`<p class="said">${said}</p>`
  return html`<p class="said">${said.slice(0, LONG.shown)} … <button type="button" class="linkish" onClick=${() => setWhole(true)}>Show all ${said.length.toLocaleString('en')} characters</button></p>`
}
