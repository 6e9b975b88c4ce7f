import { useEffect, useRef } from 'preact/hooks'
import { html } from './html.js'
import { tokensOf } from './yaml.js'

/**
 * A YAML file, or its lines from `first` on, with line numbers and colours. `marked`: lines to
 * highlight. `wanted`: a line to highlight and to scroll to.
 */
export function Yaml({ text, label, marked = [], first = 1, wanted }) {
  const lines = tokensOf(text)
  const box = useRef()
  useEffect(() => {
    if (wanted !== undefined) box.current.querySelector('.wanted')?.scrollIntoView({ block: 'center' })
  }, [wanted])
  return html`<div class="code" ref=${box} tabindex="0" role="region" aria-label=${label}><table><tbody>${lines.map(
    (tokens, at) =>
      html`<tr key=${at} id=${`line-${at + first}`} class=${`${marked.includes(at + first) ? 'marked' : ''} ${at + first === wanted ? 'wanted' : ''}`}><td class="line-number" data-line=${at + first}></td><td class="line-text">${coloured(tokens)}</td></tr>`,
  )}</tbody></table></div>${HIDDEN_COMMENT.test(text) && html`<p class="dim code-note"><code># …</code> is a comment. Comments are not shown here, because they may contain secrets.</p>`}`
}

/** A comment whose text the daemon hides. */
const HIDDEN_COMMENT = /(^|\s)# …$/m

/** The difference between two texts. */
export function Diff({ lines, label }) {
  const tokens = lines.map(({ line = '' }) => tokensOf(line)[0] ?? [])
  return html`<div class="code diff" tabindex="0" role="region" aria-label=${label}><table><tbody>${lines.map(
    ({ kind, before, after, many }, at) =>
      kind === 'skipped'
        ? html`<tr key=${at} class="skipped"><td></td><td></td><td>… ${many} more</td></tr>`
        : html`<tr key=${at} class=${kind}><td class="line-number" data-line=${before ?? ''}></td><td class="line-number" data-line=${after ?? ''}></td>
          <td class="line-text"><span class="sign">${{ added: '+', removed: '−' }[kind] ?? ' '}</span>${coloured(tokens[at])}</td></tr>`,
  )}</tbody></table></div>`
}

function coloured(tokens) {
  return tokens.map(({ kind, text }, at) =>
    kind ? html`<span key=${at} class=${`y-${kind}`}>${text}</span>` : text,
  )
}
