import { useState } from 'preact/hooks'
import { actionInWords, auditCsv, OUTCOME_WORDS } from '../../lib/audit-words.ts'
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
/** Choices for entries that are many, and seldom what one looks for, with the actions they hide. */
const HIDING = [
  ['all but sign-ins', 'sign-*'],
  ['all but submitted messages', 'message-submit'],
  ['all but both', 'sign-*,message-submit'],
]

/** The search and, on a phone folded, the other filters and actions. */
export function AuditFilter({ query, given, toRows }) {
  const { what: _, ...folded } = given
  const known = useKnown()
  const chosen = Object.keys(folded).length
  const [isOpen, setOpen] = useState(false)
  const isFolded = isNarrow.value && !isOpen
  const set = (change) => replace('audit', { ...query, ...change })
  return html`<search class="filter">
    <${FilterBox} toRows=${toRows} query=${query} set=${set} fields=${fieldsOf(known)} rest="what" words=${[['shop "order 4711"', 'the same as object:']]} label="Search the audit log" placeholder="Search: order 4711, by:anna …  /" />
    <${FoldButton} isOpen=${isOpen} chosen=${chosen} toggle=${() => setOpen(!isOpen)} />
    ${
      !isFolded &&
      html`<${Pick} label="Who" value=${query.by} options=${authors(known.by)} set=${(by) => set({ by })} />
      <${ActionPick} query=${query} actions=${known.action} set=${set} />
      <${Pick} label="Result" value=${query.outcome} options=${OUTCOME_WORDS.map((word) => [word, word])} set=${(outcome) => set({ outcome })} />
      <${Range} query=${query} set=${set} />
      <button type="button" onClick=${() => exportCsv(given)}>Export CSV</button>
      <${CopyLink} to=${() => frozenLink()} />`
    }</search>`
}

/** The authors, and above them those who have several names with the same part before the `@`. */
function authors(names) {
  const named = names.filter((name) => name.includes('@'))
  const parts = Map.groupBy(named, (name) => name.slice(0, name.indexOf('@') + 1))
  const several = [...parts].filter(([, { length }]) => length > 1)
  return [
    ...several.map(([part, { length }]) => [part, `${part}… (${length} names)`]),
    ...names.map((name) => [name, AUTHORS[name] ?? name]),
  ]
}

/** Names of authors that are no persons. */
const AUTHORS = { system: 'Trivium itself', 'control-token': 'control token' }

/** A select with `any`, and with a value of the search that is not among its options. */
function Pick({ label, value = '', options, set }) {
  const isKnown = value === '' || options.some(([known]) => known === value)
  const all = [['', 'any'], ...options, ...(isKnown ? [] : [[value, value]])]
  return html`<label class="pick"><span>${label}</span><select value=${value} onChange=${(event) => set(event.target.value)}>
    ${all.map(([known, text]) => html`<option key=${known} value=${known}>${text}</option>`)}</select></label>`
}

/** Actions that have the same words as another one: the end of an erasure has its proof. */
const NAMES = { 'person-erased': 'end of an erasure (its proof)' }

/** One action, or all but those that are many. */
function ActionPick({ query, actions, set }) {
  const { action = '', without = '' } = query
  const named = actions
    .map((name) => [name, NAMES[name] ?? tried(name)])
    .toSorted(([, a], [, b]) => a.localeCompare(b))
  const options = [...HIDING.map(([text, hidden]) => [`-${hidden}`, text]), ...named]
  const value = action === '' && without !== '' ? `-${without}` : action
  const choose = (chosen) =>
    set(chosen.startsWith('-') ? { action: '', without: chosen.slice(1) } : { action: chosen, without: '' })
  return html`<${Pick} label="Action" value=${value} options=${options} set=${choose} />`
}

/** `pause a route`. */
function tried(action) {
  return actionInWords({ action, status: 'failed' }).replace(/^tried to /, '')
}

/** The keys of the search, with values of the newest entries as suggestions. */
function fieldsOf(known) {
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
