import { useEffect, useState } from 'preact/hooks'
import { IN_PROGRESS, OUTCOMES } from '../../lib/outcomes.ts'
import { runsText } from '../../lib/resumed-text.ts'
import { invoke } from './api.js'
import { html } from './html.js'
import { Badge, OUTCOME_KINDS } from './parts.js'
import { instant } from './range.js'
import { link } from './router.js'
import { count } from './troubles.js'
import { filtersOf, heldBy, heldRuns, MAX_READ } from './waiting-messages.js'

/** Polling interval (ms). */
const POLL_INTERVAL = 1_000

/**
 * The messages that only this pause holds: their `ids`, and, if one query finds them in the view
 * Messages, that `query`. Call this before the pause ends.
 */
export async function heldMessages(pause) {
  const [{ ids, messages }, [filter, ...others], runs] = await Promise.all([
    pause.waiting > 0 ? heldBy(pause) : { ids: [], messages: [] },
    filtersOf(pause),
    heldRuns(pause),
  ])
  if (!filter || others.length > 0 || messages.length === 0) return { ids, runs }
  const times = messages.map(({ at }) => at)
  const query = { ...filter, since: instant(Math.min(...times)), until: instant(Math.max(...times) + 1) }
  return { ids, runs, query }
}

/** What became of the messages that a pause had held. */
export function Released({ held: { ids, runs = 0, query } }) {
  const [outcomes, setOutcomes] = useState()
  const isOpen = !outcomes || outcomes.some((each) => IN_PROGRESS.includes(each))
  useEffect(() => {
    if (ids.length === 0 || !isOpen) return undefined
    let isHere = true
    const read = () =>
      invoke('message-attempts', { ids }).then(
        (found) => isHere && setOutcomes(found.map(({ outcome }) => outcome)),
        () => {},
      )
    read()
    const timer = setInterval(() => document.hidden || read(), POLL_INTERVAL)
    return () => {
      isHere = false
      clearInterval(timer)
    }
  }, [ids, isOpen])
  const ofRuns = runs > 0 && html` <span>${runsText(runs)} had waited.</span>`
  if (ids.length === 0) return ofRuns || html`<span class="dim">No message had waited.</span>`
  const kinds = OUTCOMES.filter((each) => outcomes?.includes(each))
  return html`<span>${count(ids.length, 'message', ids.length === MAX_READ ? '+' : '')} had waited:</span> <span class="outcomes">${kinds.map(
    (each) => {
      const badge = html`<${Badge} key=${each} kind=${OUTCOME_KINDS[each] ?? 'busy'}>${outcomes.filter((one) => one === each).length} ${each}<//> `
      return query
        ? html`<a key=${each} href=${link('messages', { outcome: each, ...query })}>${badge}</a>`
        : badge
    },
  )}</span>${ofRuns}`
}
