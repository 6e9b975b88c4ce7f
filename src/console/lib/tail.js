import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { UNFINISHED } from '../../lib/outcomes.ts'
import { invoke, openStream } from './api.js'
import { NO_LONGER_NEEDED } from './no-longer-needed.js'
import { route } from './router.js'

const PAGE = 100
/** Maximum number of messages kept in the page; older ones are found by searching. */
const MAX_ROWS = 100_000
/**
 * When new messages are shown and the list then has more than `max` rows, only the newest `kept`
 * remain, so that a page that is open for a week stays small. Scrolling loads older messages again.
 */
const TAIL_LIMITS = { max: 2_000, kept: 1_000 }
/** Maximum number of unfinished messages whose outcomes are loaded when the list is shown again. */
const MAX_REFRESHED = 300
/** Maximum number of pages that are loaded after a time without the stream. */
const MAX_MISSED_PAGES = 20
/** Minimum interval (ms) of updates. */
const UPDATE_INTERVAL = 200

/**
 * The messages that match a filter, newest first. Messages that arrive meanwhile are added at the
 * top, but not while the list is in use (see `List`). `isOfFilter`: the rows are not those of the
 * filter before.
 */
export function useMessages(filter) {
  const [state, setState] = useState(NOTHING)
  const current = useRef()
  const isInUse = useRef()
  const [turn, setTurn] = useState(0)
  const of = JSON.stringify(filter)
  useEffect(() => {
    const tail = tailFor(filter)
    current.current = tail
    tail.show(
      (view) => setState({ ...view, of }),
      () => isInUse.current?.(),
    )
    return tail.hide
  }, [of, turn])
  const more = useCallback(() => current.current?.more(), [])
  const latestRows = useCallback(() => current.current?.rows() ?? [], [])
  const restart = () => {
    lastTail?.tail.close()
    lastTail = undefined
    setTurn(turn + 1)
  }
  return {
    ...state,
    isOfFilter: state.of === of,
    more,
    latestRows,
    isInUse,
    showFresh: () => current.current.showFresh(),
    restart,
  }
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
  const { search, readOutcomes, changed } = createReads(end.signal)
  let view
  let missed = 0
  const { updateSoon, stop } = createThrottle(() => update())
  const update = () => {
    if (end.signal.aborted || !view) return
    if (rows.freshCount() > 0 && !view.isInUse()) showFresh()
    // A copy, because rows of the same array are not rendered again, and their outcomes change.
    view.update({ ...paging.state(), rows: [...rows.all()], fresh: rows.freshCount(), missed })
    // Checks again whether the list is still in use.
    if (rows.freshCount() > 0) updateSoon()
  }
  const paging = createPaging({ filter, rows, search, update, signal: end.signal })
  const showFresh = () => {
    const wasCut = rows.showFresh({ mayCut: !paging.isBusy() })
    if (wasCut) paging.continueAfter(rows.all().at(-1).id)
  }
  const refresh = createRefresh({
    filter,
    rows,
    search,
    readOutcomes,
    updateSoon,
    firstPage: paging.firstPage,
    firstNewest: paging.firstNewest,
  })
  let closeStream = () => {}
  const gaps = {
    missed: () => missed,
    add(count) {
      missed += count
    },
  }
  const events = createEvents({ rows, paging, changed, refresh, gaps, updateSoon })
  return {
    more: paging.more,
    rows: rows.all,
    show(updateView, isInUse) {
      view = { update: updateView, isInUse }
      update()
      if (rows.all().length === 0) paging.more()
      closeStream()
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
      end.abort(NO_LONGER_NEEDED)
      closeStream()
      stop()
    },
  }
}

/**
 * The functions for the events of the stream. `lastId` is not one: the stream begins after the
 * message with this id.
 */
function createEvents({ rows, paging, changed, refresh, gaps, updateSoon }) {
  /**
   * Whether this connection had its first `now` event, after which the messages that it missed, and
   * current outcomes, are loaded.
   */
  let isCaughtUp = false
  /** Whether everything newer than `completeTo` is in the list, or comes from this connection. */
  let isComplete = false
  /** No message up to this id is missing. Undefined: up to the newest of the first page. */
  let completeTo
  let connection = 0
  return {
    message(message) {
      rows.addFresh([message])
      updateSoon()
    },
    lastId: () => rows.all()[0]?.id,
    state(isLive) {
      if (isLive && paging.state().error) paging.more()
      connection++
      // Not later: the stream may send messages before its first `now`, newer than missed ones.
      if (isComplete) completeTo = rows.newest() || completeTo
      isComplete = false
      isCaughtUp = false
    },
    now() {
      if (isCaughtUp) return
      isCaughtUp = true
      // Messages that are missed from now on may be too new for this search.
      const missed = gaps.missed()
      const current = connection
      refresh.newest(MAX_MISSED_PAGES, completeTo).then((isAll) => {
        if (!isAll) return
        isComplete = current === connection
        gaps.add(-missed)
        updateSoon()
      })
      refresh.unfinished()
    },
    refused(failure) {
      paging.fail(failure)
      updateSoon()
    },
    gap(gap) {
      gaps.add(gap.missed)
      // Only one page: more would slow down a daemon that is already busy.
      refresh.newest(1, rows.newest() || undefined)
    },
    outcome({ id, outcome }) {
      rows.change(id, outcome)
      changed(id, outcome)
      updateSoon()
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
  const known = new Map()
  let rows = []
  let fresh = []
  const add = (messages) => {
    const added = messages.filter(({ id }) => !known.has(id))
    for (const message of added) known.set(message.id, message)
    return added
  }
  return {
    all: () => rows,
    freshCount: () => fresh.length,
    has: (id) => known.has(id),
    newest: () => fresh.at(-1)?.id ?? rows[0]?.id ?? '',
    /** Appends older messages. Returns how many were new. */
    append(messages) {
      const added = add(messages)
      rows = [...rows, ...added]
      return added.length
    },
    /** Adds newer messages, oldest first, to be shown by `showFresh`. */
    addFresh(messages) {
      const added = add(messages)
      const isLater = added[0]?.id > (fresh.at(-1)?.id ?? '')
      fresh.push(...added)
      // Messages from a search may be older than those that the stream has sent meanwhile.
      if (!isLater) fresh.sort(byId)
      if (fresh.length > MAX_ROWS) for (const { id } of fresh.splice(0, MAX_ROWS / 2)) known.delete(id)
    },
    change(id, outcome) {
      const message = known.get(id)
      if (message) message.outcome = outcome
    },
    /** Shows new messages. Returns true if the oldest rows were removed for them. */
    showFresh({ mayCut }) {
      const isLater = fresh[0]?.id > (rows[0]?.id ?? '')
      rows = [...fresh.reverse(), ...rows]
      if (!isLater) rows.sort((a, b) => byId(b, a))
      fresh = []
      if (rows.length <= TAIL_LIMITS.max || !mayCut) return false
      for (const { id } of rows.splice(TAIL_LIMITS.kept)) known.delete(id)
      return true
    },
  }
}

/** Ids sort in journal order. */
const byId = (a, b) => (a.id < b.id ? -1 : 1)

/** Reads messages. Outcomes that the stream sends meanwhile are newer than those that are read. */
function createReads(signal) {
  const newer = new Map()
  let pending = 0
  /** `messagesOf`: the messages in the answer. */
  const read = async (skill, args, messagesOf) => {
    pending++
    try {
      const answer = await invoke(skill, args, signal)
      for (const message of messagesOf(answer)) message.outcome = newer.get(message.id) ?? message.outcome
      return answer
    } finally {
      if (--pending === 0) newer.clear()
    }
  }
  return {
    search: (query) => read('message-search', { ...query, limit: PAGE }, ({ messages }) => messages),
    /** The outcomes of messages: `{ id, outcome }`. */
    readOutcomes: (ids) => read('message-attempts', { ids }, (attempts) => attempts),
    /** Call it when the stream sends an outcome. */
    changed(id, outcome) {
      if (pending > 0) newer.set(id, outcome)
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
  let first
  let firstNewest
  const more = () => {
    const loading = load()
    first ??= loading
    return loading
  }
  const load = async () => {
    if (isBusy || isEnd || rows.all().length >= MAX_ROWS) return
    isBusy = true
    error = undefined
    let isEmpty = false
    try {
      const page = await search({ ...filter, ...(next && { before: next }) })
      isEmpty = rows.append(page.messages) === 0
      ;({ next, searchedTo } = page)
      firstNewest ??= page.messages[0]?.id ?? next
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
    /** Resolves once the first page is there, or could not be loaded. */
    firstPage: () => first,
    /** The newest id of the first page, or else the id to which it was searched; '' if neither. */
    firstNewest: () => firstNewest ?? '',
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
function createRefresh({ filter, rows, search, readOutcomes, updateSoon, firstPage, firstNewest }) {
  // The first page is without the outcome of the filter, because messages of the list may have
  // another one by now.
  const { outcome: wanted, ...anyOutcome } = filter
  return {
    /**
     * Loads messages newer than the id `after`, or than the first page, and the outcomes of the
     * newest ones: up to `maxPages`. Resolves with whether these are all.
     */
    async newest(maxPages, after) {
      // Otherwise the first page would count as new messages, which wait while the list is in use.
      await firstPage()
      const newest = after ?? firstNewest()
      let before
      for (let pages = 0; pages < maxPages; pages++) {
        const query = before === undefined ? anyOutcome : { ...filter, before }
        const page = await search(query).catch(() => undefined)
        if (!page) return false
        for (const message of page.messages.toReversed()) {
          const { id, outcome } = message
          if (rows.has(id)) rows.change(id, outcome)
          else if (id > newest && (!wanted || wanted.split(',').includes(outcome))) rows.addFresh([message])
        }
        updateSoon()
        before = page.next
        if (before === undefined || before <= newest) return true
      }
      return false
    },
    /** Loads the outcomes of the newest unfinished messages. */
    async unfinished() {
      const unfinished = rows.all().filter(({ outcome }) => UNFINISHED.includes(outcome))
      const ids = unfinished.slice(0, MAX_REFRESHED).map(({ id }) => id)
      for (let start = 0; start < ids.length; start += PAGE) {
        const current = await readOutcomes(ids.slice(start, start + PAGE)).catch(() => [])
        for (const { id, outcome } of current) rows.change(id, outcome)
      }
      updateSoon()
    },
  }
}
