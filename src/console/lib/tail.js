import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { invoke, openStream } from './api.js'
import { route } from './router.js'

const PAGE = 100
/** Maximum number of messages kept in the page; older ones are found by searching. */
const MOST = 100_000
/**
 * Limits at the top of the live tail, so that a page that is open for a week stays small. Scrolling
 * loads older messages again.
 */
const TAIL = { most: 2_000, kept: 1_000 }
/**
 * Outcomes that can still change; and the number of pages that are refreshed when the list is shown
 * again.
 */
const OPEN = new Set(['waiting', 'running', 'retrying', 'approval', 'replying', 'dead'])
const LOOKED_AT = 3
/** Minimum interval (ms) of updates. */
const CALM = 200

/**
 * The messages that match a filter, newest first, with new ones; these are held back while someone
 * is at a row.
 */
export function useMessages(filter) {
  const [state, setState] = useState(NOTHING)
  const current = useRef()
  const held = useRef()
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    const tail = tailFor(filter)
    current.current = tail
    tail.show(setState, () => held.current?.())
    return tail.hide
  }, [JSON.stringify(filter), turn])
  const more = useCallback(() => current.current?.more(), [])
  const later = useCallback(() => current.current?.rows() ?? [], [])
  const anew = () => {
    kept?.tail.close()
    kept = undefined
    setTurn(turn + 1)
  }
  return { ...state, more, later, held, takeIn: () => current.current.takeIn(), anew }
}

const NOTHING = { rows: [], fresh: 0, isEnd: false }

/** The last tail, so that it is unchanged on going back. */
let kept

function tailFor(filter) {
  const of = JSON.stringify([route.peek().entry, filter])
  if (kept?.of !== of) {
    kept?.tail.close()
    kept = { of, tail: createTail(filter) }
  }
  return kept.tail
}

/**
 * Between `show(tell, isHeld)` and `hide`, calls `tell` with the rows, at most a few times a
 * second. New rows wait while `isHeld()`.
 */
function createTail(filter) {
  const end = new AbortController()
  const rows = createRows()
  const { search, changed } = createSearch(end.signal)
  let [view, due, missed] = [undefined, undefined, 0]
  const told = () => {
    due = undefined
    if (end.signal.aborted || !view) return
    if (rows.fresh() > 0 && !view.isHeld()) takeIn()
    // A copy, because rows of the same array are not rendered again, and their outcomes change.
    view.tell({ ...paging.state(), rows: [...rows.all()], fresh: rows.fresh(), missed })
    if (rows.fresh() > 0) soon()
  }
  const soon = () => {
    due ??= setTimeout(told, CALM)
  }
  const paging = createPaging({ filter, rows, search, told, signal: end.signal })
  const takeIn = () => {
    if (rows.takeIn(paging.isBusy())) paging.goBackTo(rows.all().at(-1).id)
  }
  const { lookAgain, lookFurtherDown } = createLooks({ filter, rows, search, soon })
  /** A stream sends new messages after its first `now`. */
  let isCaughtUp = false
  let closeStream = () => {}
  const events = {
    message(message) {
      rows.bring([message])
      soon()
    },
    known: () => rows.all()[0]?.id,
    state(isLive) {
      if (isLive && paging.state().error) paging.more()
      isCaughtUp = false
    },
    now() {
      if (!isCaughtUp) lookAgain()
      isCaughtUp = true
    },
    refused(failure) {
      paging.fail(failure)
      soon()
    },
    gap(gap) {
      missed += gap.missed
      lookAgain()
    },
    outcome({ id, outcome }) {
      rows.change(id, outcome)
      changed(id, outcome)
      soon()
    },
  }
  return {
    more: paging.more,
    rows: rows.all,
    show(tell, isHeld) {
      view = { tell, isHeld }
      told()
      if (rows.all().length === 0) paging.more()
      else lookFurtherDown()
      closeStream()
      isCaughtUp = false
      closeStream = openStream({ ...filter, only: 'now,message,outcome' }, events)
    },
    hide() {
      view = undefined
      closeStream()
    },
    takeIn() {
      takeIn()
      told()
    },
    close() {
      end.abort()
      closeStream()
      clearTimeout(due)
    },
  }
}

/** The visible rows, newest first, and new ones that are not visible yet. */
function createRows() {
  const byId = new Map()
  let [rows, fresh] = [[], []]
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
    /** Adds newer messages, oldest first, to be shown by `takeIn`. */
    bring(messages) {
      fresh.push(...add(messages))
      if (fresh.length > MOST) for (const { id } of fresh.splice(0, MOST / 2)) byId.delete(id)
    },
    change(id, outcome) {
      const message = byId.get(id)
      if (message) message.outcome = outcome
    },
    /** Shows new messages. Returns true if the oldest rows were removed for them. */
    takeIn(isBusy) {
      rows = [...fresh.reverse(), ...rows]
      fresh = []
      if (rows.length <= TAIL.most || isBusy) return false
      for (const { id } of rows.splice(TAIL.kept)) byId.delete(id)
      return true
    },
  }
}

/** Makes the search. Outcomes that arrive during a search are not overwritten by its result. */
function createSearch(signal) {
  const outcomes = new Map()
  let onTheirWay = 0
  return {
    async search(query) {
      onTheirWay++
      try {
        const page = await invoke('message-search', { ...query, limit: PAGE }, signal)
        for (const message of page.messages) message.outcome = outcomes.get(message.id) ?? message.outcome
        return page
      } finally {
        if (--onTheirWay === 0) outcomes.clear()
      }
    },
    changed(id, outcome) {
      if (onTheirWay > 0) outcomes.set(id, outcome)
    },
  }
}

/** Loads older messages page by page. */
function createPaging({ filter, rows, search, told, signal }) {
  let [isEnd, isBusy] = [false, false]
  let [next, searchedTo, error] = []
  const more = async () => {
    if (isBusy || isEnd || rows.all().length >= MOST) return
    isBusy = true
    error = undefined
    let isBare = false
    try {
      const page = await search({ ...filter, ...(next && { before: next }) })
      isBare = rows.append(page.messages) === 0
      ;({ next, searchedTo } = page)
      isEnd = next === undefined
    } catch (failure) {
      error = failure
    }
    isBusy = false
    told()
    // Each search covers a limited part of the journal, so a short page is not always the last.
    if (!isEnd && !error && (isBare || rows.all().length < PAGE) && !signal.aborted) setTimeout(more)
  }
  return {
    more,
    isBusy: () => isBusy,
    state: () => ({ isEnd, error, searchedTo }),
    fail(failure) {
      error = failure
    },
    /** Continues after this message; newer ones were removed from the page. */
    goBackTo(id) {
      next = id
      isEnd = false
    },
  }
}

/** Refreshes messages after a time without the stream. */
function createLooks({ filter, rows, search, soon }) {
  const { outcome: wanted, ...any } = filter
  return {
    /** Loads new messages, and the outcomes of the newest ones. */
    async lookAgain() {
      const page = await search(any).catch(() => undefined)
      // Ids sort in journal order.
      const newest = rows.newest()
      for (const message of page?.messages.toReversed() ?? []) {
        const { id, outcome } = message
        if (rows.has(id)) rows.change(id, outcome)
        else if (id > newest && (!wanted || wanted.split(',').includes(outcome))) rows.bring([message])
      }
      soon()
    },
    /** Loads the outcomes of older, unfinished messages. */
    async lookFurtherDown() {
      const all = rows.all()
      for (let at = PAGE, pages = 0; at < all.length && pages < LOOKED_AT; at++) {
        if (!OPEN.has(all[at].outcome)) continue
        const page = await search({ ...any, before: all[at - 1].id }).catch(() => ({ messages: [] }))
        for (const { id, outcome } of page.messages) rows.change(id, outcome)
        at += PAGE
        pages++
      }
      soon()
    },
  }
}
