import { computed, effect, signal } from '@preact/signals'
import { call, openStream, person } from './api.js'

/** The last state of the daemon, from the event `now`; undefined before the first one. */
export const now = signal()
/** Resolves once `now` is known. What the first view does not need is loaded after it. */
export const firstState = new Promise((resolve) => {
  effect(() => {
    if (now.value !== undefined) resolve()
  })
})
/** The measurements of the last hour, one every five seconds, oldest first. */
export const points = signal([])
/** The state of the connection: `connecting`, `live`, or `gone` since `lostAt` (Unix ms). */
export const state = signal('connecting')
export const lostAt = signal(0)
/** Changes when a long job begins or ends. */
export const jobsVersion = computed(() => now.value?.jobs)
/** Incremented when the list of approvals or of dead letters may have changed. */
export const changes = { approvals: signal(0), dead: signal(0) }

/** Unix ms, updated once a second, so that all ages change together. */
export const clock = signal(Date.now())
setInterval(() => {
  clock.value = Date.now()
}, 1_000)

const phone = matchMedia('(max-width: 45rem)')
/** On a phone, rows have two lines. */
export const isNarrow = signal(phone.matches)
phone.addEventListener('change', () => {
  isNarrow.value = phone.matches
})

/** The height of a row in px. */
export const rowHeight = computed(() => (isNarrow.value ? 62 : 36))

/** Number of points in an hour. */
const MAX_POINTS = 720

/** Minimum interval (ms) of reloads of changed lists, so that one can finish before the next. */
const RELOAD_INTERVAL = 1_000
const timers = new Map()

function changed(name) {
  if (timers.has(name)) return
  const notify = () => {
    timers.delete(name)
    changes[name].value++
  }
  timers.set(name, setTimeout(notify, RELOAD_INTERVAL))
}

/**
 * Loads the points of the last hour by a request, because they are up to 100 kB and the stream is
 * not compressed. Keeps newer points that the stream has sent meanwhile.
 */
async function loadHistory() {
  // A minute less than the points kept, so that the next new points do not push these out.
  const history = await call('GET', '/v1/history?since=59m')
  const last = history.points.at(-1)?.at ?? 0
  points.value = [...history.points, ...points.peek().filter(({ at }) => at > last)]
}

/** A separate signal, so that a changed name of the person does not reopen the stream. */
const isSignedIn = computed(() => Boolean(person.value))
let close = () => {}
effect(() => {
  close()
  close = () => {}
  if (!isSignedIn.value) return
  close = openStream(
    { only: 'point,now,approval,dead' },
    {
      state(isLive) {
        if (!isLive && state.peek() !== 'gone') lostAt.value = Date.now()
        const isBack = isLive && state.peek() !== 'connecting'
        state.value = isLive ? 'live' : 'gone'
        if (isBack) for (const each of Object.values(changes)) each.value++
        if (isLive) firstState.then(loadHistory).catch(() => undefined)
      },
      // If the store is unavailable, the event contains only the reason, and the old data stays.
      now: (value) => {
        now.value = value.error ? { ...now.peek(), ...value } : value
      },
      point: (point) => {
        points.value = [...points.peek(), point].slice(-MAX_POINTS)
      },
      approval: () => changed('approvals'),
      dead: () => changed('dead'),
    },
  )
})
