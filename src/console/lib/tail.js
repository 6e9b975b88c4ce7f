import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { invoke, openStream } from './api.js'
import { route } from './router.js'

const PAGE = 100
/** More than these are not kept in the page; what is older is found by a search. */
const MOST = 100_000
/** At the top of the tail no more than so many stay: a page that is open for a week stays small, and who scrolls gets the older ones again. */
const TAIL = { most: 2_000, kept: 1_000 }
/** Outcomes that change yet, and pages of them that are looked at again when somebody comes back to the list. */
const OPEN = new Set(['waiting', 'running', 'retrying', 'approval', 'replying', 'dead'])
const LOOKED_AT = 3
/** Ms between two times that what is new is shown. */
const CALM = 200

/** The messages that a filter leaves, newest first, and what comes in: held back while somebody is at a row. */
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

/** The last tail: who comes back to it finds it as it was. */
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
 * Between `show(tell, isHeld)` and `hide`, `tell` gets what there is to show, a few times a second at most; what is new waits while
 * `isHeld` says so.
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
    // A copy: what is drawn of the same array is not drawn again, and the outcomes in it change.
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
  /** A stream tells of what comes in from its first `now` on. */
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

/** The rows that are shown, newest first, and those that came in and are not shown yet. */
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
    /** Adds older ones at the end; returns how many were not there. */
    append(messages) {
      const added = add(messages)
      rows = [...rows, ...added]
      return added.length
    },
    /** Adds newer ones, oldest first, to be shown by `takeIn`. */
    bring(messages) {
      fresh.push(...add(messages))
      if (fresh.length > MOST) for (const { id } of fresh.splice(0, MOST / 2)) byId.delete(id)
    },
    change(id, outcome) {
      const message = byId.get(id)
      if (message) message.outcome = outcome
    },
    /** Shows what came in. True: the oldest rows were removed for it. */
    takeIn(isBusy) {
      rows = [...fresh.reverse(), ...rows]
      fresh = []
      if (rows.length <= TAIL.most || isBusy) return false
      for (const { id } of rows.splice(TAIL.kept)) byId.delete(id)
      return true
    },
  }
}

/** Searches; what became of a message while a page is on its way is not undone by the page. */
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

/** Loads page after page of what is older. */
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
    // A page may be short and not be the end: each looks only so far.
    if (!isEnd && !error && (isBare || rows.all().length < PAGE) && !signal.aborted) setTimeout(more)
  }
  return {
    more,
    isBusy: () => isBusy,
    state: () => ({ isEnd, error, searchedTo }),
    fail(failure) {
      error = failure
    },
    /** Goes on behind this one: what came after it is not there any more. */
    goBackTo(id) {
      next = id
      isEnd = false
    },
  }
}

/** Looks at what became of messages while nothing was heard. */
function createLooks({ filter, rows, search, soon }) {
  const { outcome: wanted, ...any } = filter
  return {
    /** What came in, and what became of the newest. */
    async lookAgain() {
      const page = await search(any).catch(() => undefined)
      // Ids sort as the journal does.
      const newest = rows.newest()
      for (const message of page?.messages.toReversed() ?? []) {
        const { id, outcome } = message
        if (rows.has(id)) rows.change(id, outcome)
        else if (id > newest && (!wanted || wanted.split(',').includes(outcome))) rows.bring([message])
      }
      soon()
    },
    /** What became of older ones that were open. */
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
