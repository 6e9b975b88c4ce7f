import { useEffect, useState } from 'preact/hooks'
import { invoke } from './api.js'
import { NO_LONGER_NEEDED } from './no-longer-needed.js'
import { instant } from './range.js'

/** Number of spans that a call counts, and maximum number of calls. */
const SPANS = 60
const MAX_CALLS = 40
/** Interval (ms) of updates. */
const REFRESH_INTERVAL = 30_000
/** The outcomes of messages that failed. */
const FAILED = 'dead,undelivered'

/**
 * The messages that arrived in a range, by route, and how many of them failed: `{ arrived, failed,
 * countedTo }`, of the newest messages first. Undefined until some are counted; `error` if they cannot
 * be.
 */
export function useRouteCounts({ since, until }) {
  const [found, setFound] = useState()
  const of = `${since} ${until}`
  useEffect(() => {
    let timer
    const abort = new AbortController()
    const range = { since, ...(until && { until }) }
    const refresh = () =>
      Promise.all([countsOf(range, abort.signal), countsOf({ ...range, outcome: FAILED }, abort.signal)])
        .then(([arrived, failed]) => {
          const cuts = [arrived.countedTo, failed.countedTo].filter(Boolean)
          setFound({ of, arrived: arrived.routes, failed: failed.routes, countedTo: Math.max(0, ...cuts) })
        })
        .catch((error) => abort.signal.aborted || setFound((last) => last ?? { of, error }))
        .finally(() => {
          if (!abort.signal.aborted) timer = setTimeout(refresh, REFRESH_INTERVAL)
        })
    refresh()
    return () => {
      abort.abort(NO_LONGER_NEEDED)
      clearTimeout(timer)
    }
  }, [of])
  return found?.of === of ? found : undefined
}

/** Counts until all are counted, or the calls are used up. */
async function countsOf(filter, signal) {
  const sums = {}
  const add = ({ routes = [] }) => {
    for (const { route, count } of routes) sums[route] = (sums[route] ?? 0) + count
  }
  const first = await invoke('message-histogram', { ...filter, routes: true, buckets: SPANS }, signal)
  add(first)
  let { countedTo } = first
  for (let calls = 1; countedTo !== undefined && calls < MAX_CALLS; calls++) {
    const older = { since: instant(first.from), until: instant(countedTo), width: first.width }
    const next = await invoke('message-histogram', { ...filter, ...older, routes: true }, signal)
    add(next)
    ;({ countedTo } = next)
  }
  return { routes: sums, countedTo }
}
