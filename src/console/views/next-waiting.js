import { useLayoutEffect, useRef } from 'preact/hooks'
import { invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { keyOf, longestWaitFirst, MAX_WAITING } from '../lib/inbox.js'
import { onKey } from '../lib/keys.js'
import { now } from '../lib/live.js'
import { Age, useLoaded } from '../lib/parts.js'
import { moveTo } from '../lib/trail.js'
import { hrefOf } from './conversation-row.js'
import { senderOf } from './messages.js'

/**
 * A button to the conversation that has waited longest for a person after this one, and from the last
 * to the first. `isDone`: this conversation needs no answer, so the button is the main action.
 */
export function NextWaiting({ gateway, conversation, isDone }) {
  const many = (now.value?.troubles ?? []).find(({ code }) => code === 'unanswered')?.count
  /** The last known start of the wait here: an answer ends it, and the order goes on from there. */
  const waited = useRef()
  const { value: next } = useLoaded(
    async (signal) => {
      const args = { forPerson: true, answerable: true, limit: MAX_WAITING }
      const { conversations } = await invoke('conversation-list', args, signal)
      const here = keyOf({ gateway, conversation })
      const all = longestWaitFirst(conversations).filter(({ waitingSince }) => waitingSince !== undefined)
      const at = all.findIndex((row) => keyOf(row) === here)
      if (at >= 0) waited.current = all[at].waitingSince
      const others = all.filter((row) => keyOf(row) !== here)
      if (at >= 0) return others[at] ?? others[0]
      return others.find(({ waitingSince }) => waitingSince > waited.current) ?? others[0]
    },
    [isDone, many],
  )
  const href = next && hrefOf(next)
  useLayoutEffect(() => {
    if (href) return onKey('w', 'next who waits for a person', () => moveTo(href))
  }, [href])
  if (!href) return null
  return html`<button type="button" class=${`small next-waiting ${isDone ? 'primary' : ''}`} onClick=${() => moveTo(href)}><span>Next<span class="wide"> who waits</span>:</span> <span class="whom">${senderOf(next.from)}</span> <${Age} at=${next.waitingSince} /> <kbd class="wide">w</kbd></button>`
}
