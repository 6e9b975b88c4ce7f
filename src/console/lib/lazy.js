import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { call } from './api.js'
import { html } from './html.js'
import { Loading, Problem } from './parts.js'

/** What is in a file that the first view does not need: `load()` imports it. */
export function lateFile(load) {
  const loaded = signal()
  const error = signal()
  let loading
  const fetch = () => {
    loading ??= load().then(
      (file) => {
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
  // Browsers may remember that a file could not be loaded.
  const again = () =>
    call('GET', '/healthz').then(
      () => location.reload(),
      (failure) => {
        error.value = failure
      },
    )
  return {
    /** Resolves with the file; throws where it does not come. */
    fetch,
    /** A page by the name of its export. It is there at once where the file is. */
    page: (name) =>
      function Late(props) {
        useEffect(() => void fetch().catch(() => undefined), [])
        const Page = loaded.value?.[name]
        if (Page) return html`<${Page} ...${props} />`
        return html`<section class="page" aria-busy=${!error.value}>${error.value ? html`<${Problem} error=${error.value} retry=${again} />` : html`<${Loading} />`}</section>`
      },
  }
}
