import { signal } from '@preact/signals'
import { useCallback, useLayoutEffect, useMemo } from 'preact/hooks'
import { lastSaidAt } from '../../lib/last-said.ts'
import { inWaitingOrder, partOf } from '../../lib/waiting-order.ts'
import { invoke, openStream } from './api.js'
import { route } from './router.js'

const PAGE = 50
/** Maximum number of conversations in which somebody waits. */
export const MAX_WAITING = 200
/** Time (ms) in which further calls for them begin: the time of each is limited. */
const WAITING_TIME = 3_000
/** Minimum time (ms) between reloads while much happens. */
const RELOAD_INTERVAL = 2_000
/** Interval (ms) of further reloads: the stream has no event for an answer by hand. */
const POLL_INTERVAL = 10_000
/** Interval (ms) of attempts to show a new order while the list is in use. */
const RETRY_INTERVAL = 500

/** How long (ms) a list keeps its order after somebody went back to it, unless they use it. */
const RETURN_TIME = 10_000

export const keyOf = ({ gateway, conversation }) => `${gateway} ${conversation}`

/** The last inbox, shown in the same order on going back to it. */
let last = { key: undefined, inbox: undefined }

/** The inbox of these arguments of `conversation-list`, updated while the component is shown. */
export function useInbox(args) {
  const key = JSON.stringify([route.peek().entry, args])
  const inbox = useMemo(() => {
    if (last.key !== key) last = { key, inbox: createInbox(args) }
    return last.inbox
  }, [key])
  // Ends with the page: later rows would change the order that is kept for going back.
  useLayoutEffect(() => inbox.follow(), [inbox])
  // The list calls `more` in an effect that depends on it. It changes with each page, so that the
  // list calls it again even if a page added no row.
  const more = useCallback(() => inbox.more(), [inbox, inbox.state.value.shown?.next])
  return { ...inbox, more }
}

/**
 * Conversations, those in which somebody waits first, for a person before others. `state`: a signal with `shown`, undefined
 * until all that the first rows need is known, so that their order does not change then. `isUsed`:
 * a ref that the list sets. While somebody uses the list, its rows are updated in their places;
 * `isDue` offers a new order.
 */
function createInbox(args) {
  const state = signal({ shown: undefined, newest: undefined, isDue: false, turn: 0, error: undefined })
  const isUsed = { current: () => false }
  const hold = createHold(isUsed)
  const set = (change) => Object.assign(state, { value: { ...state.peek(), ...change } })
  let isShown = false
  let isLoading = false
  let isLoadingAgain = false
  let isLoadingMore = false

  async function load() {
    // What is being read may be older than the change that this call is for.
    if (isLoading) isLoadingAgain = true
    if (isLoading) return
    isLoading = true
    try {
      const [waiting, page] = await Promise.all([readWaiting(args), readPage(args)])
      arrive(arranged(waiting, page))
    } catch (error) {
      set({ error })
    }
    isLoading = false
    if (isLoadingAgain) load()
    isLoadingAgain = false
  }
  function arrive(newest) {
    const { shown, turn } = state.peek()
    const isSame = shown !== undefined && isSameOrder(shown, newest)
    // Who goes back to the list finds it as it was left.
    const isLeft = !isShown || document.hidden
    const isInUse = shown !== undefined && (isSame || isLeft || hold.isOn())
    set({
      ...{ newest, turn: turn + 1, error: undefined },
      ...{ shown: isInUse ? inPlace(shown, newest) : newest, isDue: isInUse && !isSame },
    })
  }
  const apply = () => set({ shown: state.peek().newest, isDue: false })

  async function more() {
    const before = state.peek().shown?.next
    if (before === undefined || isLoadingMore) return
    isLoadingMore = true
    const page = await readPage({ ...args, before }).catch((error) => set({ error }))
    isLoadingMore = false
    const { shown } = state.peek()
    // Otherwise, a new order was shown meanwhile.
    if (page && shown.next === before)
      set({ shown: { ...shown, rest: [...shown.rest, ...page.rows], next: page.next } })
  }

  function follow() {
    isShown = true
    if (state.peek().shown) hold.begin()
    load()
    let timer
    const refresh = () => document.hidden || isLoading || load()
    const soon = () => {
      timer ??= setTimeout(() => {
        timer = undefined
        refresh()
      }, RELOAD_INTERVAL)
    }
    const close = openStream(
      { only: 'message,outcome' },
      { message: soon, outcome: soon, gap: soon, state: (isLive) => isLive && soon() },
    )
    const look = () => hold.isOn() || !state.peek().isDue || document.hidden || apply()
    const intervals = [setInterval(look, RETRY_INTERVAL), setInterval(refresh, POLL_INTERVAL)]
    document.addEventListener('visibilitychange', refresh)
    return () => {
      isShown = false
      close()
      document.removeEventListener('visibilitychange', refresh)
      clearTimeout(timer)
      intervals.forEach(clearInterval)
    }
  }

  return { state, isUsed, load, more, follow, apply }
}

/** Whether the rows keep their order: while the list is used, and for a time after going back to it. */
function createHold(isUsed) {
  let until = 0
  return {
    begin() {
      until = Date.now() + RETURN_TIME
    },
    isOn() {
      if (isUsed.current()) until = 0
      return isUsed.current() || Date.now() < until
    },
  }
}

/** All rows in their order. */
export function rowsOf({ waiting, rest }) {
  return distinct([...waiting, ...rest])
}

/**
 * Those who wait first: for a person, then for somebody who has taken over, then for something else,
 * each longest first. `forPerson` and `takenOver`: how many of them are in the first two parts. Then
 * the others, those with the newest message or answer first.
 */
function arranged({ rows, isCut }, page) {
  const waiting = inWaitingOrder(distinct([...rows, ...page.rows]))
  const { 'for a person': mine = [], 'taken over': held = [] } = partsOf(waiting)
  return {
    ...{ waiting, forPerson: mine.length, takenOver: held.length },
    ...{ isCut, rest: page.rows, next: page.next },
  }
}

/** The rows of each part. */
export const partsOf = (rows) => Object.groupBy(rows, partOf)

/** The conversations of a page, newest activity of either side first. */
async function readPage(args) {
  const page = await invoke('conversation-list', { ...args, limit: PAGE })
  return { rows: countedIn(page).toSorted((a, b) => lastSaidAt(b) - lastSaidAt(a)), next: page.next }
}

/** The rows of a page. `hasMore`: older messages are not counted. */
function countedIn({ conversations, countedTo }) {
  return countedTo === undefined ? conversations : conversations.map((row) => ({ ...row, hasMore: true }))
}

/**
 * The conversations in which somebody waits. Each call continues where the last one ran out of
 * time. `isCut`: there may be others.
 */
async function readWaiting(args) {
  const deadline = performance.now() + WAITING_TIME
  const rows = []
  let before
  do {
    const limit = MAX_WAITING - rows.length
    const page = await invoke('conversation-list', {
      ...{ ...args, unanswered: true, limit },
      ...(before !== undefined && { before }),
    })
    rows.push(...countedIn(page))
    before = page.next
  } while (before !== undefined && rows.length < MAX_WAITING && performance.now() < deadline)
  return { rows: distinct(rows), isCut: before !== undefined }
}

/** Who waits longest comes first, and those who do not wait last, newest first. */
export function longestWaitFirst(rows) {
  const placeOf = (row) => row.waitingSince ?? Number.MAX_SAFE_INTEGER - lastSaidAt(row)
  return rows.toSorted((a, b) => placeOf(a) - placeOf(b))
}

/** The first row of each conversation. */
function distinct(rows) {
  const seen = new Set()
  return rows.filter((row) => {
    const isNew = !seen.has(keyOf(row))
    seen.add(keyOf(row))
    return isNew
  })
}

/** Whether the rows of `newest` are the first ones of `shown`, in the same order. */
function isSameOrder(shown, newest) {
  const keys = rowsOf(shown).map(keyOf)
  return (
    shown.waiting.length === newest.waiting.length &&
    shown.forPerson === newest.forPerson &&
    shown.takenOver === newest.takenOver &&
    rowsOf(newest).every((row, index) => keyOf(row) === keys[index])
  )
}

/** The rows of `shown` in their order, as they are in `newest`. */
function inPlace(shown, newest) {
  const known = new Map(rowsOf(newest).map((row) => [keyOf(row), row]))
  const update = (row) => {
    const found = known.get(keyOf(row))
    if (found || newest.isCut) return found ?? row
    // Nobody waits in it any more.
    const { waitingSince, undelivered, ...others } = row
    return others
  }
  return { ...shown, waiting: shown.waiting.map(update), rest: shown.rest.map(update) }
}
