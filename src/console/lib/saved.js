import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { ageText } from '../../lib/age-text.ts'
import { invoke, mayRun } from './api.js'
import { authorOf } from './authors.js'
import { html } from './html.js'
import { act, ask } from './parts.js'
import { link } from './router.js'
import { count } from './troubles.js'

const KEY = 'trivium-views'

/** The views of everybody: `{ list, name, query, by, at }`. Empty until they are loaded. */
const shared = signal([])
/**
 * The views saved in this browser: `{ of, name, query }`, where `of` is the path of the list. People
 * who may not save for everybody save here, and earlier versions saved nowhere else.
 */
const own = signal(read())

// Saved in another tab.
addEventListener('storage', ({ key }) => {
  if (key === KEY) own.value = read()
})

function read() {
  try {
    const found = JSON.parse(localStorage.getItem(KEY) ?? '[]')
    return Array.isArray(found) ? found.filter((each) => typeof each?.name === 'string' && each.query) : []
  } catch {
    return []
  }
}

function write(next) {
  localStorage.setItem(KEY, JSON.stringify(next))
  own.value = next
}

/** Those that are loaded stay if the daemon is not reached. */
async function load() {
  shared.value = await invoke('view-list', {}).then(
    ({ views }) => views,
    () => shared.peek(),
  )
}

/** The saved views of a list, with a button to save the current one. */
export function SavedViews({ of, query }) {
  useEffect(() => {
    load()
  }, [])
  const all = viewsOf(of)
  const here = textOf(query)
  const shown = all.find((each) => textOf(each.query) === here)
  // A tab alone is no view of its own.
  const isFiltered = Object.keys(query).some((key) => key !== 'show')
  if (all.length === 0 && !isFiltered) return null
  return html`<div class="saved">
    ${all.length > 0 && html`<ul aria-label="Saved views">${all.map((each) => html`<li key=${each.name}><a class="chip" href=${link(of, each.query)} title=${originOf(each)} aria-current=${each === shown ? 'true' : undefined}>${each.name}</a></li>`)}</ul>`}
    <span class="buttons">
      ${isFiltered && !shown && html`<button type="button" class="small" onClick=${() => save(of, query)}>Save view …</button>`}
      ${shown && (!shown.by || mayRun('view-delete')) && html`<button type="button" class="small" onClick=${() => remove(of, shown)}>Remove “${shown.name}”${shown.by && ' …'}</button>`}
    </span>
  </div>`
}

/** One of this browser is hidden by one of everybody with its name. */
function viewsOf(of) {
  const ofAll = shared.value.filter((each) => each.list === of)
  const names = new Set(ofAll.map(({ name }) => name))
  return [...ofAll, ...own.value.filter((each) => each.of === of && !names.has(each.name))]
}

function textOf(query) {
  return JSON.stringify(Object.entries(query).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function originOf({ by, at }) {
  return by ? `Saved by ${authorOf(by)} ${ageText(Date.now() - at)} ago` : 'Saved in this browser only'
}

async function save(of, query) {
  const isForAll = mayRun('view-save')
  const draft = signal({ name: '', moves: true })
  const body = html`<${Form} of=${of} draft=${draft} isForAll=${isForAll} />`
  const title = isForAll ? 'Save this view for everybody' : 'Save this view in this browser'
  if (!(await ask({ title, body, action: 'Save' }))) return
  const { name, moves } = draft.value
  await act(async () => {
    if (!name) throw new Error('A view needs a name.')
    if (!isForAll) {
      write([...own.peek().filter((each) => each.of !== of || each.name !== name), { of, name, query }])
      return `The view “${name}” is saved in this browser.`
    }
    await invoke('view-save', { list: of, name, query })
    if (moves) await moveOwn()
    await load()
    return `The view “${name}” is saved for everybody.`
  })
}

/** The views of this browser become views of everybody. One with a name that is taken stays. */
async function moveOwn() {
  const { views } = await invoke('view-list', {})
  const isTaken = ({ of, name }) => views.some((view) => view.list === of && view.name === name)
  for (const each of own.peek().filter((one) => !isTaken(one))) {
    await invoke('view-save', { list: each.of, name: each.name, query: each.query })
    write(own.peek().filter((one) => one !== each))
  }
}

function Form({ of, draft, isForAll }) {
  const set = (change) => {
    draft.value = { ...draft.value, ...change }
  }
  const replaced = shared.value.find((each) => each.list === of && each.name === draft.value.name)
  const many = own.value.length
  return html`<label>Name <input maxlength="40" autofocus onInput=${({ target }) => set({ name: target.value.trim() })} /></label>
    ${isForAll && replaced && html`<p class="warn-text" role="status">It replaces the view that ${authorOf(replaced.by)} saved.</p>`}
    ${isForAll && many > 0 && html`<label class="check"><input type="checkbox" checked=${draft.value.moves} onChange=${({ target }) => set({ moves: target.checked })} /> also ${count(many, 'view')} of this browser</label>`}`
}

async function remove(of, view) {
  if (!view.by) return write(own.peek().filter((each) => each !== view))
  const body = html`<p>${originOf(view)}.</p>`
  if (!(await ask({ title: `Remove “${view.name}” for everybody?`, body, action: 'Remove' }))) return
  await act(async () => {
    await invoke('view-delete', { list: of, name: view.name })
    await load()
    return `The view “${view.name}” is removed.`
  })
}
