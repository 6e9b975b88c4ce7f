import { useState } from 'preact/hooks'
import { invoke } from '../lib/api.js'
import { Ran } from '../lib/approval.js'
import { authorOf } from '../lib/authors.js'
import { causeOf } from '../lib/cause.js'
import { html } from '../lib/html.js'
import { took, useLoaded, Words } from '../lib/parts.js'
import { link } from '../lib/router.js'

/** The approvals that the history names, by id: `{ ID: approval }`. */
export function useApprovals(history) {
  const ids = [...new Set(history.flatMap(({ detail }) => detail?.approval ?? []))]
  const { value = {} } = useLoaded(
    async (signal) => {
      const found = await Promise.all(
        ids.map((id) => invoke('approval-list', { id }, signal).catch(() => [])),
      )
      return Object.fromEntries(found.flat().map((approval) => [approval.id, approval]))
    },
    [ids.join(), history.length],
  )
  return value
}

/** The request for approval that was sent to the conversation, where the sender may have read it. */
export function SentRequest({ detail: { text, error, reason } }) {
  const [isOpen, setOpen] = useState(false)
  return html`${(error || reason) && html`<span class="fields"><${Words} text=${causeOf(error ?? reason)} /></span>`}
    ${text && html`<details onToggle=${(event) => setOpen(event.target.open)}><summary>Its text</summary>${isOpen && html`<pre class="reply" tabindex="0" aria-label="Text of the request">${text}</pre>`}</details>`}`
}

/** An attempt that waits for an approval. */
export function WaitsForApproval({ detail: { route, ms }, approval }) {
  return html`${ms !== undefined && html`<span class="took">${took(ms)}</span> `}<span class="fields">route ${route}</span>
    ${approval && html`<p><a href=${link('approvals', { id: approval.id })}>${approval.title}</a></p>`}`
}

/** Who decided, why, and what became of the run. `sent`: the texts that other entries show. */
export function Decided({ detail: { by, via, reason }, approval, sent }) {
  return html`<span class="fields">${by ? `by ${authorOf(by)}${via ? ` (${via})` : ''}` : 'nobody decided in time'}${reason && `: ${reason}`}</span>
    ${approval?.run && html`<${Ran} of=${approval.run} sent=${sent} />`}`
}
