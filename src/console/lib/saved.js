import { signal } from '@preact/signals'
import { html } from './html.js'
import { act, ask } from './parts.js'
import { link } from './router.js'

const KEY = 'trivium-views'

/** The views saved in this browser: `{ of, name, query }`, where `of` is the path of the view. */
const saved = signal(read())

// Saved in another tab.
addEventListener('storage', ({ key }) => {
  if (key === KEY) saved.value = read()
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
  saved.value = next
}

/** The saved views of a list, with a button to save the current one. */
export function SavedViews({ of, query }) {
  const here = JSON.stringify(query)
  const own = saved.value.filter((each) => each.of === of)
  const shown = own.find((each) => JSON.stringify(each.query) === here)
  const isFiltered = Object.keys(query).length > 0
  const save = async () => {
    let name = ''
    const body = html`<p>It is saved in this browser only. Use “Copy link” to share it.</p>
      <label>Name <input maxlength="40" autofocus onInput=${(event) => {
        name = event.target.value.trim()
      }} /></label>`
    if (!(await ask({ title: 'Save this view', body, action: 'Save' }))) return
    await act(async () => {
      if (!name) throw new Error('A view needs a name.')
      write([...saved.peek().filter((each) => each.of !== of || each.name !== name), { of, name, query }])
      return `The view “${name}” is saved in this browser.`
    })
  }
  if (own.length === 0 && !isFiltered) return null
  const remove = () => write(saved.peek().filter((each) => each !== shown))
  return html`<div class="saved">
    ${own.length > 0 && html`<ul aria-label="Saved views">${own.map((each) => html`<li key=${each.name}><a class="chip" href=${link(of, each.query)} aria-current=${each === shown ? 'true' : undefined}>${each.name}</a></li>`)}</ul>`}
    <span class="buttons">
      ${isFiltered && !shown && html`<button type="button" class="small" onClick=${save}>Save view …</button>`}
      ${shown && html`<button type="button" class="small" onClick=${remove}>Remove “${shown.name}”</button>`}
    </span>
  </div>`
}
