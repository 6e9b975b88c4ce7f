import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { invoke, openStream } from './api.js'
import { route } from './router.js'

const PAGE = 100
/** Maximum number of messages kept in the page; older ones are found by searching. */
const MAX_ROWS = 100_000
/**
 * With more than `max` rows at the top of the live tail, only `kept` remain, so that a page that is
 * open for a week stays small. Scrolling loads older messages again.
 */
const TAIL_LIMITS = { max: 2_000, kept: 1_000 }
/** Outcomes that can still change. */
const UNFINISHED = new Set(['waiting', 'running', 'retrying', 'approval', 'replying', 'dead'])
/** Number of pages that are refreshed when the list is shown again. */
const REFRESHED_PAGES = 3
/** Minimum interval (ms) of updates. */
const UPDATE_INTERVAL = 200

/**
 * The messages that match a filter, newest first, with new ones; these wait while the list is in
 * use (see `List`).
 */
export function useMessages(filter) {
  const [state, setState] = useState(NOTHING)
  const current = useRef()
  const isInUse = useRef()
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    const tail = tailFor(filter)
    current.current = tail
    tail.show(setState, () => isInUse.current?.())
    return tail.hide
  }, [JSON.stringify(filter), turn])
  const more = useCallback(() => current.current?.more(), [])
  const later = useCallback(() => current.current?.rows() ?? [], [])
  const restart = () => {
    lastTail?.tail.close()
    lastTail = undefined
    setTurn(turn + 1)
  }
  return { ...state, more, later, isInUse, showFresh: () => current.current.showFresh(), restart }
}

const NOTHING = { rows: [], fresh: 0, isEnd: false }

/** The last tail, so that it is unchanged on going back. */
let lastTail

function tailFor(filter) {
  const key = JSON.stringify([route.peek().entry, filter])
  if (lastTail?.key !== key) {
    lastTail?.tail.close()
    lastTail = { key, tail: createTail(filter) }
  }
  return lastTail.tail
}

/**
 * Between `show(updateView, isInUse)` and `hide`, calls `updateView` with the rows, a few times a
 * second at most. New rows wait while `isInUse()`.
 */
function createTail(filter) {
  const end = new AbortController()
  const rows = createRows()
  const { search, changed } = createSearch(end.signal)
  let view
  let missed = 0
  const { updateSoon, stop } = createThrottle(() => update())
  const update = () => {
    if (end.signal.aborted || !view) return
    if (rows.fresh() > 0 && !view.isInUse()) showFresh()
    // A copy, because rows of the same array are not rendered again, and their outcomes change.
    view.update({ ...paging.state(), rows: [...rows.all()], fresh: rows.fresh(), missed })
    if (rows.fresh() > 0) updateSoon()
  }
  const paging = createPaging({ filter, rows, search, update, signal: end.signal })
  const showFresh = () => {
    if (rows.showFresh(paging.isBusy())) paging.continueAfter(rows.all().at(-1).id)
  }
  const { refreshNewest, refreshOlder } = createRefresh({ filter, rows, search, updateSoon })
  /** A stream sends new messages after its first `now`. */
  let isCaughtUp = false
  let closeStream = () => {}
  const events = {
    message(message) {
      rows.addFresh([message])
      updateSoon()
    },
    known: () => rows.all()[0]?.id,
    state(isLive) {
      if (isLive && paging.state().error) paging.more()
      isCaughtUp = false
    },
    now() {
      if (!isCaughtUp) refreshNewest()
      isCaughtUp = true
    },
    refused(failure) {
      paging.fail(failure)
      updateSoon()
    },
    gap(gap) {
      missed += gap.missed
      refreshNewest()
    },
    outcome({ id, outcome }) {
      rows.change(id, outcome)
      changed(id, outcome)
      updateSoon()
    },
  }
  return {
    more: paging.more,
    rows: rows.all,
    show(updateView, isInUse) {
      view = { update: updateView, isInUse }
      update()
      if (rows.all().length === 0) paging.more()
      else refreshOlder()
      closeStream()
      isCaughtUp = false
      closeStream = openStream({ ...filter, only: 'now,message,outcome' }, events)
    },
    hide() {
      view = undefined
      closeStream()
    },
    showFresh() {
      showFresh()
      update()
    },
    close() {
      end.abort()
      closeStream()
      stop()
    },
  }
}

/** Calls `update` at most once per `UPDATE_INTERVAL`, at its end. */
function createThrottle(update) {
  let timer
  return {
    updateSoon() {
      timer ??= setTimeout(() => {
        timer = undefined
        update()
      }, UPDATE_INTERVAL)
    },
    stop: () => clearTimeout(timer),
  }
}

/** The visible rows, newest first, and new ones that are not visible yet. */
function createRows() {
  const byId = new Map()
  let rows = []
  let fresh = []
  const add = (messages) => {
    const added = messages.filter(({ id }) => !byId.has(id))
    for (const message of added) byId.set(message.id, message)
    return added
  }
  return {
    all: () => rows,
    fresh: () => fresh.length,
    has: (id) => byId.has(id),
    newest: () => fresh.at(-1)?.id ?? rows[0]?.id ?? '',
    /** Appends older messages. Returns how many were new. */
    append(messages) {
      const added = add(messages)
      rows = [...rows, ...added]
      return added.length
    },
    /** Adds newer messages, oldest first, to be shown by `showFresh`. */
    addFresh(messages) {
      fresh.push(...add(messages))
      if (fresh.length > MAX_ROWS) for (const { id } of fresh.splice(0, MAX_ROWS / 2)) byId.delete(id)
    },
    change(id, outcome) {
      const message = byId.get(id)
      if (message) message.outcome = outcome
    },
    /** Shows new messages. Returns true if the oldest rows were removed for them. */
    showFresh(isBusy) {
      rows = [...fresh.reverse(), ...rows]
      fresh = []
      if (rows.length <= TAIL_LIMITS.max || isBusy) return false
      for (const { id } of rows.splice(TAIL_LIMITS.kept)) byId.delete(id)
      return true
    },
  }
}

/** Makes the search. Outcomes that arrive during a search are not overwritten by its result. */
function createSearch(signal) {
  const outcomes = new Map()
  let pending = 0
  return {
    async search(query) {
      pending++
      try {
        const page = await invoke('message-search', { ...query, limit: PAGE }, signal)
        for (const message of page.messages) message.outcome = outcomes.get(message.id) ?? message.outcome
        return page
      } finally {
        if (--pending === 0) outcomes.clear()
      }
    },
    changed(id, outcome) {
      if (pending > 0) outcomes.set(id, outcome)
    },
  }
}

/** Loads older messages page by page. */
function createPaging({ filter, rows, search, update, signal }) {
  let isEnd = false
  let isBusy = false
  let next
  let searchedTo
  let error
  const more = async () => {
    if (isBusy || isEnd || rows.all().length >= MAX_ROWS) return
    isBusy = true
    error = undefined
    let isEmpty = false
    try {
      const page = await search({ ...filter, ...(next && { before: next }) })
      isEmpty = rows.append(page.messages) === 0
      ;({ next, searchedTo } = page)
      isEnd = next === undefined
    } catch (failure) {
      error = failure
    }
    isBusy = false
    update()
    // Each search covers a limited part of the journal, so a short page is not always the last.
    if (!isEnd && !error && (isEmpty || rows.all().length < PAGE) && !signal.aborted) setTimeout(more)
  }
  return {
    more,
    isBusy: () => isBusy,
    state: () => ({ isEnd, error, searchedTo }),
    fail(failure) {
      error = failure
    },
    /** Continues after this message; newer ones were removed from the page. */
    continueAfter(id) {
      next = id
      isEnd = false
    },
  }
}

/** Refreshes messages after a time without the stream. */
function createRefresh({ filter, rows, search, updateSoon }) {
  const { outcome: wanted, ...anyOutcome } = filter
  return {
    /** Loads new messages, and the outcomes of the newest ones. */
    async refreshNewest() {
      const page = await search(anyOutcome).catch(() => undefined)
      // Ids sort in journal order.
      const newest = rows.newest()
      for (const message of page?.messages.toReversed() ?? []) {
        const { id, outcome } = message
        if (rows.has(id)) rows.change(id, outcome)
        else if (id > newest && (!wanted || wanted.split(',').includes(outcome))) rows.addFresh([message])
      }
      updateSoon()
    },
    /** Loads the outcomes of older, unfinished messages. */
    async refreshOlder() {
      const all = rows.all()
      for (let index = PAGE, pages = 0; index < all.length && pages < REFRESHED_PAGES; index++) {
        if (!UNFINISHED.has(all[index].outcome)) continue
        const page = await search({ ...anyOutcome, before: all[index - 1].id }).catch(() => ({
          messages: [],
        }))
        for (const { id, outcome } of page.messages) rows.change(id, outcome)
        index += PAGE
        pages++
      }
      updateSoon()
    },
  }
}
