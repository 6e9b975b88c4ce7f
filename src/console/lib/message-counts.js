import { invoke } from './api.js'
import { instant } from './range.js'

/** Maximum number of calls, after which older messages stay uncounted. */
const MAX_CALLS = 40

/**
 * The results of `message-histogram` for a filter, from the newest messages to the oldest: one call
 * counts as many as it can in its time. The first one has all spans; later ones have the older part
 * of the time in spans of the same width.
 */
export async function* countPages(filter, buckets, signal) {
  const first = await invoke('message-histogram', { ...filter, buckets }, signal)
  yield first
  const { from, width } = first
  let { countedTo } = first
  for (let calls = 1; countedTo !== undefined && calls < MAX_CALLS; calls++) {
    const older = { since: instant(from), until: instant(countedTo), width }
    const next = await invoke('message-histogram', { ...filter, ...older }, signal)
    yield next
    ;({ countedTo } = next)
  }
}
