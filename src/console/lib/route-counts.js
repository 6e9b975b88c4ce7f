import { useEffect, useState } from 'preact/hooks'
import { invoke } from './api.js'
import { keptValue } from './kept-value.js'
import { countPages } from './message-counts.js'
import { NO_LONGER_NEEDED } from './no-longer-needed.js'

/** Number of spans that a call counts. */
const SPANS = 60
/** Interval (ms) of updates. */
const REFRESH_INTERVAL = 30_000
/** The outcomes of messages that failed. */
const FAILED = 'dead,undelivered'

/**
 * By route: the messages that arrived in a range (`arrived`), how many of them failed, without tests
 * (`failed`), how many have a reply that was not delivered (`undelivered`), the attempts that ended in the range (`attempts`: `{ runs, failed }`, of skills), and
 * when the last message arrived, at any time (`last`). `countedTo`: older messages are not counted.
 * Those of the last visit until they are counted again; `error` if they cannot be.
 */
export function useRouteCounts({ since, until }) {
  const [found, setFound] = useState()
  const of = `${since} ${until}`
  useEffect(() => {
    let timer
    const abort = new AbortController()
    const range = { since, ...(until && { until }) }
    const refresh = () =>
      load(range, abort.signal)
        .then((counts) => setFound({ of, ...counts }))
        .catch(
          (error) =>
            abort.signal.aborted || setFound((last) => ({ ...(last?.of === of && last), of, error })),
        )
        .finally(() => {
          if (!abort.signal.aborted) timer = setTimeout(refresh, REFRESH_INTERVAL)
        })
    refresh()
    return () => {
      abort.abort(NO_LONGER_NEEDED)
      clearTimeout(timer)
    }
  }, [of])
  const isNew = found?.of === of
  const counts = keptValue(`route counts ${of}`, isNew && !found.error ? found : undefined)
  return isNew && found.error ? { ...counts, error: found.error } : counts
}

async function load(range, signal) {
  const [arrived, failed, undelivered, tests, usage, routes] = await Promise.all([
    countsOf(range, signal),
    countsOf({ ...range, outcome: FAILED }, signal),
    countsOf({ ...range, outcome: 'undelivered' }, signal),
    invoke('dead-letter-groups', { queue: 'dispatch', ...arrivedIn(range) }, signal),
    invoke('skill-usage', range, signal),
    invoke('route-list', { last: true }, signal),
  ])
  for (const { group, tests: many = 0 } of tests)
    if (failed.routes[group]) failed.routes[group] = Math.max(0, failed.routes[group] - many)
  return {
    arrived: arrived.routes,
    failed: failed.routes,
    undelivered: undelivered.routes,
    attempts: attemptsIn(usage),
    last: Object.fromEntries(routes.map(({ name, lastAt }) => [name, lastAt])),
    countedTo: Math.max(0, ...[arrived.countedTo, failed.countedTo].filter(Boolean)),
  }
}

function arrivedIn({ since, until }) {
  return { arrivedSince: since, ...(until && { arrivedUntil: until }) }
}

/** Counts until all are counted, or the calls are used up. */
async function countsOf(filter, signal) {
  const sums = {}
  let countedTo
  for await (const page of countPages({ ...filter, routes: true }, SPANS, signal)) {
    for (const { route, count } of page.routes ?? []) sums[route] = (sums[route] ?? 0) + count
    ;({ countedTo } = page)
  }
  return { routes: sums, countedTo }
}

/** The ended and failed attempts of each route, by the callers of all skills. */
function attemptsIn(usage) {
  const calls = usage.flatMap(({ callers }) => callers.filter(({ by }) => by.startsWith('route ')))
  return Object.fromEntries(
    [...Map.groupBy(calls, ({ by }) => by.slice('route '.length))].map(([route, own]) => [
      route,
      { runs: sumIn(own, 'runs'), failed: sumIn(own, 'failed') },
    ]),
  )
}

const sumIn = (rows, field) => rows.reduce((sum, row) => sum + (row[field] ?? 0), 0)
