import { effect } from '@preact/signals'
import { person } from './api.js'
import { go, link, onLeave, route } from './router.js'

/** Maximum number of remembered pages. */
const MAX_PAGES = 6

/** The pages that were left last in this tab, newest first. */
let recent = []

onLeave(() => {
  const { path, query } = route.peek()
  const hash = link(path, query)
  const title = document.querySelector('main h1')?.textContent.replace(/\s+/g, ' ').trim()
  if (!title || path.length < 2) return
  recent = [{ hash, title, path, query }, ...recent.filter((each) => each.hash !== hash)].slice(0, MAX_PAGES)
})

// The next person who signs in to this tab does not get them.
effect(() => {
  if (person.value === null) recent = []
})

/** Entries of the palette for the pages that were left last, without views and the open page. */
export function recentPages() {
  const { path, query } = route.peek()
  const here = link(path, query)
  return recent
    .filter(({ hash }) => hash !== here)
    .map(({ title, path, query }) => ({ kind: 'recent', name: title, run: () => go(path, query) }))
}
