import { retriedSinceFilter } from '../../lib/retried-since.ts'
import { invoke } from './api.js'
import { html } from './html.js'
import { useLoaded } from './parts.js'
import { link } from './router.js'
import { count } from './troubles.js'

/** In a list of failed messages: how many others failed at first and were tried again since. */
export function RetriedSince({ filter }) {
  const others = retriedSinceFilter(filter)
  const { value } = useLoaded(
    async (signal) => {
      if (!others) return undefined
      const { counts, countedTo } = await invoke('message-histogram', { ...others, buckets: 1 }, signal)
      return { many: counts.reduce((sum, each) => sum + each, 0), isCut: countedTo !== undefined }
    },
    [JSON.stringify(others)],
  )
  if (!others || !value?.many) return null
  const { many, isCut } = value
  const { outcome: _, attempts: _attempts, search = '', ...left } = others
  const at = link('messages', { ...left, search: `${search} attempts:>1 -status:failed`.trim() })
  return html`<p class="dim retried-since">${count(many, 'other', isCut ? '+' : '')} failed at first, and ${many === 1 ? 'was' : 'were'} tried again since: <a href=${at}>show ${many === 1 ? 'it' : 'them'}</a></p>`
}
