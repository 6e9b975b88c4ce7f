import { useState } from 'preact/hooks'
import { auditCsv, OUTCOME_WORDS } from '../../lib/audit-words.ts'
import { invoke } from '../lib/api.js'
import { FilterBox } from '../lib/filter-box.js'
import { FoldButton } from '../lib/fold-button.js'
import { frozenLink } from '../lib/frozen-link.js'
import { html } from '../lib/html.js'
import { isNarrow } from '../lib/live.js'
import { act, CopyLink, useLoaded } from '../lib/parts.js'
import { Range } from '../lib/range.js'
import { replace } from '../lib/router.js'
import { save } from '../lib/save-file.js'
import { count } from '../lib/troubles.js'
import { shownName } from './audit-parts.js'

/** Entries that an export reads in one call. */
const EXPORT_PAGE = 1_000
/** Maximum number of entries in an export. */
const MOST_EXPORTED = 100_000
const KINDS = ['person', 'token', 'system']
/** Entries that are many, and seldom what one looks for. */
const HIDDEN = [
  ['sign-*', 'Hide sign-ins'],
  ['message-submit', 'Hide submitted messages'],
]

/** The search and, on a phone folded, the other filters and actions. */
export function AuditFilter({ query, given, toRows }) {
  const { what: _, by: _by, ...folded } = given
  const chosen = Object.keys(folded).length
  const [isOpen, setOpen] = useState(false)
  const isFolded = isNarrow.value && !isOpen
  const set = (change) => replace('audit', { ...query, ...change })
  return html`<search class="filter">
    <${FilterBox} toRows=${toRows} query=${query} set=${set} fields=${useFields()} rest="what" words=${[['shop "order 4711"', 'the same as object:']]} label="Search the audit log" placeholder="Search: by:, action:, object: …  /" />
    <${FoldButton} isOpen=${isOpen} chosen=${chosen} toggle=${() => setOpen(!isOpen)} />
    ${
      !isFolded &&
      html`<label class="pick"><span>Result</span><select value=${query.outcome ?? ''} onChange=${(event) => set({ outcome: event.target.value })}>
        <option value="">any</option>${[...new Set([...OUTCOME_WORDS, query.outcome].filter(Boolean))].map((word) => html`<option key=${word} value=${word}>${word}</option>`)}</select></label>
      <${Range} query=${query} set=${set} />
      ${HIDDEN.map(([action, label]) => html`<button key=${action} type="button" aria-pressed=${hiddenIn(query).includes(action)} onClick=${() => set({ without: toggled(query, action) })}>${label}</button>`)}
      <button type="button" onClick=${() => exportCsv(given)}>Export CSV</button>
      <${CopyLink} to=${() => frozenLink()} />`
    }</search>`
}

const hiddenIn = ({ without = '' }) => without.split(',').filter(Boolean)

function toggled(query, action) {
  const hidden = hiddenIn(query)
  const next = hidden.includes(action) ? hidden.filter((one) => one !== action) : [...hidden, action]
  return next.join(',')
}

/** The keys of the search, with values of the newest entries as suggestions. */
function useFields() {
  const known = useKnown()
  return [
    {
      key: 'by',
      name: 'by',
      example: 'anna',
      about: 'who did it: a part of the name',
      values: () => known.by,
    },
    {
      key: 'action',
      name: 'action',
      example: 'dead-letter-*',
      about: 'the action, or a glob',
      values: () => known.action,
    },
    {
      key: 'without',
      name: 'without',
      example: 'message-submit',
      about: 'not these actions: names or globs, separated by commas',
      values: () => known.action,
    },
    {
      key: 'kind',
      name: 'kind',
      example: 'token',
      about: 'a person, a token, or Trivium itself',
      values: () => KINDS,
    },
    {
      key: 'result',
      name: 'outcome',
      example: 'denied',
      about: 'whether it was done, the decision, or an error code',
      values: () => known.outcome,
    },
    {
      key: 'object',
      name: 'what',
      example: 'hand back',
      about: 'a text in what was done, the person or subject, names, ids or the reason',
      values: () => known.what,
    },
  ]
}

/** The authors, actions, outcomes and objects of the newest entries, which the search suggests. */
function useKnown() {
  const { value = [] } = useLoaded(
    async (signal) => (await invoke('audit-list', { limit: EXPORT_PAGE }, signal)).entries,
    [],
  )
  const distinct = (of) => [...new Set(value.flatMap(of))]
  const codes = distinct(({ outcome }) => (outcome === 'ok' ? [] : [outcome]))
  return {
    by: distinct(({ by }) => shownName(by)),
    action: distinct(({ action }) => action).toSorted(),
    outcome: [...new Set([...OUTCOME_WORDS.map((word) => word.replace(' ', '-')), ...codes])],
    what: distinct(({ target = {} }) => Object.values(target).filter((one) => typeof one === 'string')),
  }
}

function exportCsv(given) {
  return act(async () => {
    const entries = await allOf(given)
    save(`audit-${new Date().toISOString().slice(0, 10)}.csv`, auditCsv(entries), 'text/csv')
    return `${count(entries.length, 'entry').replace(/entrys$/, 'entries')} exported.`
  })
}

/** All entries that match, up to a limit. */
async function allOf(given) {
  const entries = []
  let before
  do {
    const page = await invoke('audit-list', {
      ...given,
      limit: EXPORT_PAGE,
      ...(before !== undefined && { before }),
    })
    entries.push(...page.entries)
    before = page.next
  } while (before !== undefined && entries.length < MOST_EXPORTED)
  return entries
}
