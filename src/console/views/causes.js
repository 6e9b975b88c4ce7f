import { authorOf } from '../lib/authors.js'
import { decideLetters, rangeOf } from '../lib/decide-letters.js'
import { html } from '../lib/html.js'
import { Age, Badge, preview, TestMark } from '../lib/parts.js'
import { go, link } from '../lib/router.js'
import { Evidence } from '../lib/succeeded-since.js'
import { count } from '../lib/troubles.js'
import { WhoWaits } from '../lib/who-waits.js'
import { CauseOwner } from './cause-owner.js'

export const keyOfCause = ({ queue, group, code, pattern }) => [queue, group, code, pattern].join(' ')
const filterOf = ({ queue, group, code, pattern }) => ({ queue, group, code, pattern })
/** The dead letters of a cause. `within`: filter of the page. `proof`: evidence for a retry. */
export function Cause({ group, proof, within, reload }) {
  // Includes the search, because other dead letters of this kind are not shown.
  const filter = { ...within, ...filterOf(group) }
  const {
    queue,
    group: name,
    code,
    common,
    count: many,
    tests,
    first,
    failingSince: since = first,
    last: newest,
    lastNew: last,
    oldest,
    sample,
    recipients,
    senders,
    waits,
  } = group
  return html`<div class="group">
    <p class="group-head"><b class="many">${many.toLocaleString('en')}</b> <a data-row href=${link('dead-letters', filter)}>${name || queue}</a> <${Badge}>${queue}<//> <code>${code}</code>${tests > 0 && html` <${TestMark} many=${many > tests ? tests : undefined} />`}</p>
    <p class="error" onClick=${() => getSelection().isCollapsed && go('dead-letters', filter)}>${common}</p>
    ${sample && html`<p class="dim one-line">${recipients && html`<b>to ${recipients.slice(0, 3).join(', ')}${recipients.length > 3 && ' …'}</b> `}${many > 1 ? 'newest: ' : ''}${preview(sample)}</p>`}
    <${Evidence} of=${proof} /><${RetriedNote} of=${group} />
    <${CauseOwner} of=${group} />
    ${waits && queue !== 'outbox' && html`<p><${WhoWaits} of=${waits} /></p>`}
    <p class="dim">${senders > 0 && (!waits || queue === 'outbox') && html`from <b>${count(senders, 'sender')}</b>, `}last <${Age} at=${last} /> ago${many > 1 || since < last - SAME_TIME ? html`, first <${Age} at=${since} /> ago` : ''}${!waits && oldest < since - SAME_TIME && html`, oldest message <${Age} at=${oldest} /> ago`}</p>
    <${Decide} filter=${filter} range=${rangeOf(first, newest)} many=${many} of=${name || queue} common=${common} done=${reload}>${queue === 'outbox' && recipients && html`<a class="button" href=${many === 1 ? link(['dead-letters', group.newest], { queue }) : link('dead-letters', filter)}>${many === 1 ? 'Send it to another address …' : 'Send them to other addresses …'}</a>`}<//>
  </div>`
}

/** Times that are closer than this (ms) are shown as one time. */
export const SAME_TIME = 60_000

/** Says that a dead letter, or the one of a group that failed last, was retried and failed again. */
function RetriedNote({ of: { retriedAt, retriedBy } }) {
  if (retriedAt === undefined) return null
  return html`<p class="again">Retried <${Age} at=${retriedAt} /> ago${retriedBy && ` by ${authorOf(retriedBy)}`}, and failed again.</p>`
}

/**
 * Buttons to retry or drop all that matches a filter. Each asks once, with the number. `range`: the
 * times of the shown ones.
 */
export function Decide({ filter, range, many, of, common, done, children }) {
  const owner = html`<${CauseOwner} of=${filter} />`
  const decide = (verb) => decideLetters({ verb, filter, range, many, of, common, note: owner, done })
  return html`<div class="buttons">
    <button changes type="button" onClick=${() => decide('retry')}>Retry ${many === 1 ? '' : 'all'} …</button>
    <button changes type="button" class="danger" onClick=${() => decide('drop')}>Drop ${many === 1 ? '' : 'all'} …</button>${children}
  </div>`
}
