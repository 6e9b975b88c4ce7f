import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { call } from './api.js'
import { html } from './html.js'
import { Loading, Problem } from './parts.js'

/**
 * A file that the first view does not need. `load()` imports it; `loadStyles()` resolves when its
 * styles are there.
 */
export function lazyFile(load, loadStyles) {
  const loaded = signal()
  const error = signal()
  let loading
  const fetch = () => {
    loading ??= Promise.all([load(), loadStyles()]).then(
      ([file]) => {
        loaded.value = file
        return file
      },
      () => {
        loading = undefined
        error.value = new Error('The daemon does not answer: this page could not be loaded.')
        throw error.value
      },
    )
    return loading
  }
  // Reloads the page, because browsers may remember that a file could not be loaded.
  const retry = () =>
    call('GET', '/healthz').then(
      () => location.reload(),
      (failure) => {
        error.value = failure
      },
    )
  return {
    /** Resolves with the file; rejects if it cannot be loaded. */
    fetch,
    /** The component with this name in the file; nothing until it is loaded. */
    part: (name) =>
      function LazyPart(props) {
        const Part = loaded.value?.[name]
        return Part ? html`<${Part} ...${props} />` : null
      },
    /** The view with this name in the file; shows that it is loading until then. */
    page: (name) =>
      function LazyPage(props) {
        useEffect(() => void fetch().catch(() => undefined), [])
        const Page = loaded.value?.[name]
        if (Page) return html`<${Page} ...${props} />`
        return html`<section class="page" aria-busy=${!error.value}>${error.value ? html`<${Problem} error=${error.value} retry=${retry} />` : html`<${Loading} />`}</section>`
      },
  }
}
