import { invoke } from '../lib/api.js'
import { useCalmList } from '../lib/calm-list.js'
import { errorOf, MAX_LETTERS, rangeOf } from '../lib/decide-letters.js'
import { dropLetters } from '../lib/drop-letters.js'
import { html } from '../lib/html.js'
import { List } from '../lib/list.js'
import { rowHeight } from '../lib/live.js'
import { Age, Copy, Empty, preview, TestMark, Wait } from '../lib/parts.js'
import { Retries } from '../lib/retries.js'
import { LastRetry, retryLetters } from '../lib/retry.js'
import { link } from '../lib/router.js'
import { Select, SelectionBar, useSelection } from '../lib/selection.js'
import { Back } from '../lib/trail.js'
import { ArrivalNote } from './arrival-note.js'
import { CauseFacts } from './cause-facts.js'
import { CauseOwner } from './cause-owner.js'
import { Decide } from './causes.js'

/** The letters of one kind. */
export function Letters({ filter }) {
  const { loaded, box, isDue, show } = useCalmList(
    (signal) => invoke('dead-letter-list', { ...filter, limit: MAX_LETTERS }, signal),
    [],
  )
  const { value: letters = [] } = loaded
  const common = commonOf(letters.map(errorOf))
  const hasReasons = common !== undefined && !letters.every((letter) => isInText(letter, common))
  const selection = useSelection(letters, keyOfLetter)
  const hasAgain = letters.some(({ retriedAt }) => retriedAt !== undefined)
  const named = (some) => some.map(({ id, queue, summary }) => ({ id, queue, text: preview(summary) }))
  const drop = async () => {
    if (!(await dropLetters(named(selection.chosen), html`<${CauseOwner} of=${filter} />`))) return
    selection.clear()
    show()
  }
  const retry = async (some) => {
    if (!(await retryLetters(named(some), show, filter, html`<${CauseOwner} of=${filter} />`))) return
    selection.clear()
    show()
  }
  return html`<section class="page fills" aria-labelledby="title">
    <${Back} to="dead-letters" />
    <header class="bar">
      <h1 id="title">${filter.group || filter.queue ? `Dead letters of ${filter.group || filter.queue}` : 'Dead letters of one kind'}</h1>
      <p class="fresh">${isDue && html`<button type="button" class="pill" onClick=${show}>Changed · refresh</button>`}</p>
      ${letters.length > 0 && html`<${Decide} filter=${filter} range=${rangeOf(letters.at(-1).at, letters[0].at)} many=${letters.length} of=${filter.group || filter.queue} common=${common && `${common.start}…${common.end && ` ${common.end}`}`} done=${show} />`}
    </header>
    <${Wait} of=${loaded} what="the dead letters" />
    <${ArrivalNote} of=${filter} />
    <${CauseOwner} of=${filter} />
    <${LastRetry} of=${filter} />
    ${loaded.value?.length === 0 && html`<${Retries} of=${filter} since="1d" /><${Empty} title="No dead letter of this kind is left."><a href=${link('dead-letters')}>Show all kinds</a><//>`}
    ${
      letters.length > 0 &&
      html`<p class="error">${common === undefined ? errorOf(letters[0]) : `${common.start.trimEnd()} … ${common.end}`}</p>
    <${CauseFacts} of=${filter} letters=${letters} retry=${retry} done=${show} />`
    }
    ${letters.length > 0 && html`<${Columns} hasReasons=${hasReasons} hasAgain=${hasAgain} />`}
    <div ref=${box} class="fills">
      <${List} label="Dead letters" items=${letters} height=${rowHeight.value} keyOf=${keyOfLetter} hrefOf=${hrefOf} row=${(letter) => html`<${LetterRow} letter=${letter} common=${hasReasons ? common : undefined} selection=${selection} retry=${retry} hasAgain=${hasAgain} />`} />
    </div>
    <${SelectionBar} of=${selection}>
      <button changes type="button" class="primary" onClick=${() => retry(selection.chosen)}>Retry ${selection.chosen.length}${selection.chosen.length > 1 && ' …'}</button>
      <button changes type="button" class="danger" onClick=${drop}>Drop ${selection.chosen.length} …</button>
      <${Copy} label="Copy ids" text=${() => selection.chosen.map(({ id }) => id).join('\n')} />
    <//>
  </section>`
}

const keyOfLetter = ({ id, queue }) => `${queue} ${id}`

const hrefOf = ({ id, queue }) => link(['dead-letters', id], { queue })

/** The common start and end of texts, in whole words; undefined if all are equal. */
function commonOf(texts) {
  const [first = '', ...others] = texts
  if (others.every((text) => text === first)) return undefined
  const words = texts.map((text) => text.split(/(?<=\s)/))
  const [own, ...rest] = words
  let start = 0
  let end = 0
  while (start < own.length && rest.every((each) => each[start] === own[start])) start++
  const left = Math.min(...words.map(({ length }) => length)) - start
  while (end < left && rest.every((each) => each.at(-1 - end) === own.at(-1 - end))) end++
  return {
    start: own.slice(0, start).join(''),
    end: own.slice(own.length - end).join(''),
    differenceIn: (text) =>
      text.slice(
        own.slice(0, start).join('').length,
        text.length - own.slice(own.length - end).join('').length,
      ),
  }
}

/** Whether the text of a letter has the part of its error that differs. */
function isInText(letter, common) {
  const part = common.differenceIn(errorOf(letter)).trim()
  return ` ${preview(letter.summary)} `.split(/[^\p{L}\p{N}.@_-]+/u).includes(part)
}

const layoutOf = (hasReasons, hasAgain) =>
  `message-row letter ${hasAgain ? 'has-again' : ''} ${hasReasons ? '' : 'same-reason'}`

/** The titles of the columns. The age is that of the last failure, as the order. */
function Columns({ hasReasons, hasAgain }) {
  const names = ['failed', 'gateway', 'from', 'message', hasReasons ? 'error' : '']
  return html`<div class=${`list-head ${layoutOf(hasReasons, hasAgain)}`} aria-hidden="true">${names.map((name) => html`<span key=${name}>${name}</span>`)}</div>`
}

function LetterRow({ letter, common, selection, retry, hasAgain }) {
  const { at, message, summary, retriedAt } = letter
  return html`<${Select} of=${selection} id=${keyOfLetter(letter)} label=${`Select dead letter ${letter.id}`} /><a class=${layoutOf(common !== undefined, hasAgain)} href=${hrefOf(letter)}>
    <${Age} at=${at} /><span class="gateway">${message?.gateway}</span><span class="sender">${letter.queue === 'outbox' && letter.data?.to ? `to ${[letter.data.to].flat().join(', ')}` : (message?.from?.name ?? message?.from?.id)}</span>
    <span class="text">${message?.data?.replyTarget?.test && html`<${TestMark} /> `}${message?.data?.event && html`<span class="event">${message.data.event}</span>`}${preview(summary)}</span>
    <span class="reason"><${Reason} error=${errorOf(letter)} common=${common} /></span>
    <span class="again">${retriedAt !== undefined && html`retried <${Age} at=${retriedAt} /> ago, failed again`}</span>
  </a><button changes type="button" class="small take" tabindex="-1" onClick=${() => retry([letter])} aria-label=${`Retry ${letter.id}`}>Retry</button>`
}

/** The part of an error that differs between the letters. The heading has the rest. */
function Reason({ error, common }) {
  return common && html`<mark title=${error}>${common.differenceIn(error).trimEnd()}</mark>`
}
