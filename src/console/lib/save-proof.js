import { proofName, proofPage } from '../../lib/proof-page.ts'
import { authorOf } from './authors.js'
import { html } from './html.js'
import { save } from './save-file.js'

/** Saves the proof of an erasure that has ended: a page that prints well, and JSON with all details. */
export function SaveProof({ of: job }) {
  if (job?.kind !== 'person-erase' || job.endedAt === undefined) return null
  const saveBoth = () => {
    const name = proofName(job)
    save(`${name}.html`, proofPage(job, authorOf(job.by)), 'text/html')
    save(`${name}.json`, `${JSON.stringify(job, null, 2)}\n`, 'application/json')
  }
  return html`<button type="button" onClick=${saveBoth}>Save proof</button>`
}
