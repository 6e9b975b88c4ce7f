import { useEffect, useState } from 'preact/hooks'
import { html } from './html.js'
import { Problem } from './parts.js'

/** A page whose file comes when it is first shown: the first view needs none of it. `load()` imports the file, `name` is that of its export. */
export function lazy(load, name) {
  let Page
  return function Lazy(props) {
    const [error, setError] = useState()
    const [turn, setTurn] = useState(0)
    useEffect(() => {
      if (Page) return
      load().then((loaded) => {
        Page = loaded[name]
        setTurn((last) => last + 1)
      }, setError)
    }, [turn])
    if (Page) return html`<${Page} ...${props} />`
    const again = () => location.reload()
    return html`<section class="page" aria-busy=${!error}>${error ? html`<${Problem} error=${error} retry=${again} />` : html`<p class="dim">Loading …</p>`}</section>`
  }
}
