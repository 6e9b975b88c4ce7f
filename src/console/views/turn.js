import { useState } from 'preact/hooks'
import { patternOf } from '../../lib/error-pattern.ts'
import { whyWaits } from '../../lib/why-waits.ts'
import { invoke, isViewer } from '../lib/api.js'
import { authorOf } from '../lib/authors.js'
import { causeOf } from '../lib/cause.js'
import { isHeld } from '../lib/held.js'
import { html } from '../lib/html.js'
import { clock } from '../lib/live.js'
import { Age, act, ask, Moment, span } from '../lib/parts.js'
import { retryNow } from '../lib/pause.js'
import { reportRetry } from '../lib/retry.js'
import { link } from '../lib/router.js'
import { mayAnswer, useRoomForNotices } from './answer.js'
import { AnswerOrNote } from './answer-or-note.js'
import { CauseOwner } from './cause-owner.js'
import { senderOf } from './messages.js'
import { NextWaiting } from './next-waiting.js'
import { Settle, SettledNote } from './settle.js'
import { answerTo, dropSent, OtherAddress } from './unsent-reply.js'

/** Longer answers are cut in a history; their dead letter is complete. */
const MAX_TEXT = 4_000

/**
 * Whose turn it is, and the field to answer. `unsent`: the last reply, if it did not arrive, and
 * `letter` the id of its dead letter.
 */
export function Answering({ of, asked, unsent, letter, reload }) {
  const box = useRoomForNotices()
  const [isForced, force] = useState(false)
  const isFutile = Boolean(unsent && of.unreachable && !of.unanswerable && !isForced)
  return html`<div class="answering" ref=${box}>
    ${
      unsent
        ? html`<${NotDelivered} of=${of} asked=${asked} unsent=${unsent} letter=${letter} force=${isFutile && (() => force(true))} reload=${reload} />`
        : html`<${Turn} of=${of} asked=${asked} reload=${reload} />`
    }
    <${AnswerOrNote} of=${of} asked=${asked} canAnswer=${!isFutile} done=${reload} next=${html`<${NextWaiting} ...${placeOf(asked)} isDone=${of.waitingSince === undefined} />`} />
  </div>`
}

/** Whose turn it is. */
function Turn({ of, asked, reload }) {
  const { waitingSince, reply, settled } = of
  if (settled) return html`<${SettledNote} of=${settled} />`
  if (waitingSince !== undefined)
    return html`<p class="now-it warn"><b>${senderOf(asked.from)}</b> has waited for an answer for <${Age} at=${waitingSince} />, since <${Moment} at=${waitingSince} />. ${!of.heldBy && whyWaits(asked.outcome)} <${Settle} ...${placeOf(asked)} done=${reload} /></p>`
  if (reply)
    return html`<p class="now-it">Answered${reply.by && ` by ${authorOf(reply.by)}`} <${Age} at=${reply.at} /> ago, on <${Moment} at=${reply.at} />.${isHeld(asked.outcome, of) && ` ${whatIsHeld(asked)}`}</p>`
  return null
}

function whatIsHeld({ outcome }) {
  return outcome === 'waiting'
    ? 'The message is held: no skill has run for it.'
    : 'The message is held: its skill goes on when the conversation is handed back.'
}

const placeOf = ({ gateway, conversation }) => ({ gateway, conversation })

/**
 * A reply that did not arrive: why, since when the sender waits, and what can be done, the usual
 * action first. `force`: shows the field to answer anyway; false if it is shown.
 */
function NotDelivered({ of: { waitingSince, unreachable, entries }, asked, unsent, letter, force, reload }) {
  const [reason, advice = ''] = unreachable?.split('; ') ?? []
  const isMail = asked.transport === 'email' && Boolean(unsent.text) && !isViewer.value
  const canCorrect = force && isMail && unsent.text.length <= MAX_TEXT
  const what = `The ${unsent.letter ? `mail to ${unsent.to}` : 'reply'}${unsent.by ? ` by ${authorOf(unsent.by)}` : ''}`
  const verb = unsent.state === 'send failed' ? 'cannot be sent' : 'was not delivered'
  const cause = causeOf(unsent.error ?? 'the reason is not known').replace(/[.\s]+$/, '')
  const isWaiting = waitingSince !== undefined
  const elsewhere = !canCorrect && advice && (isMail ? letter : undefined)
  return html`<div class="now-it warn not-delivered">
    <p>${what} ${verb}: ${force && reason ? html`<b>${reason}</b> <span class="dim">(${cause})</span>` : html`<b>${cause}</b>`}.</p>
    <p class="dim">${force && `Another answer would not arrive either${advice && !canCorrect && !elsewhere ? `: ${advice}` : ''}. `}${unsent.nextAt > clock.value && html`The next attempt begins in <b>${span(unsent.nextAt - clock.value)}</b>. `}${isWaiting && html`<b>${senderOf(asked.from)}</b> has waited for <${Age} at=${waitingSince} />.`}</p>
    ${letter && unsent.error && html`<${CauseOwner} of=${{ queue: 'outbox', group: asked.gateway, pattern: patternOf(unsent.error) }} />`}
    ${canCorrect && html`<${OtherAddress} gateway=${asked.gateway} answers=${asked.id} may=${() => mayAnswer(asked)} drop=${() => dropSent(unsent, entries)} done=${reload} to=${unsent.to ?? asked.from.address} subject=${unsent.subject ?? answerTo(asked.subject)} text=${unsent.text} />`}
    <p class="actions">
      ${elsewhere && html`<a class="button primary small" href=${letterAt(letter)}>${advice.charAt(0).toUpperCase()}${advice.slice(1)}</a>`}
      ${unsent.nextAt > clock.value && html`<button changes type="button" class="primary small" onClick=${() => retryNow(asked.id).then(reload)}>Retry now</button>`}
      ${letter && html`<button changes type="button" class=${force ? 'linkish' : 'primary small'} onClick=${() => retryReply(letter, reload)}>Retry …</button>`}
      ${force && html`<button changes type="button" class="linkish" onClick=${force}>Answer anyway</button>`}
      ${letter && html`<a href=${letterAt(letter)}>See the dead letter</a>`}
      ${isWaiting && html`<${Settle} ...${placeOf(asked)} done=${reload} />`}
    </p>
  </div>`
}

const letterAt = (letter) => link(['dead-letters', letter], { queue: 'outbox' })

/** Asks, and sends a reply again that was not delivered. */
async function retryReply(id, done) {
  const body = 'It is sent once more to the same place, as it was written.'
  if (!(await ask({ title: 'Send this answer again?', body, action: 'Retry' }))) return
  const began = Date.now()
  const letter = { id, queue: 'outbox' }
  const isRetried = await act(async () => {
    await invoke('dead-letter-retry', letter)
    return 'It is being sent again.'
  })
  if (isRetried)
    void reportRetry({ began, many: 1, isWanted: (each) => each.id === id, letters: [letter], done })
}
