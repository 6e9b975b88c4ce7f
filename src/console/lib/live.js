import { computed, effect, signal } from '@preact/signals'
import { call, openStream, person } from './api.js'

/** The last state of the daemon from the stream (event `now`); undefined before. */
export const now = signal()
/** Resolves once that is known: what the first view does not need is loaded after it. */
export const known = new Promise((resolve) => {
  effect(() => {
    if (now.value !== undefined) resolve()
  })
})
/** The points of the last hour, oldest first, every five seconds. */
export const points = signal([])
/** `connecting`, `live`, or `gone` since `goneAt`. */
export const state = signal('connecting')
export const goneAt = signal(0)
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

/** In px. */
export const rowHeight = computed(() => (isNarrow.value ? 62 : 36))

const HOUR_OF_POINTS = 720

/** Minimum interval (ms) of reloading changed lists, so that loads can finish while much happens. */
const CALM = 1_000
const due = new Map()

function changed(name) {
  if (due.has(name)) return
  const tell = () => {
    due.delete(name)
    changes[name].value++
  }
  due.set(name, setTimeout(tell, CALM))
}

/** 100 kB where a daemon has run for an hour, which the stream cannot compress. What has come meanwhile stays. */
async function loadHistory() {
  const history = await call('GET', '/v1/history?since=59m')
  const last = history.points.at(-1)?.at ?? 0
  points.value = [...history.points, ...points.peek().filter(({ at }) => at > last)]
}

/** Another name does not affect the stream. */
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
        if (!isLive && state.peek() !== 'gone') goneAt.value = Date.now()
        const isBack = isLive && state.peek() !== 'connecting'
        state.value = isLive ? 'live' : 'gone'
        if (isBack) for (const each of Object.values(changes)) each.value++
        if (isLive) known.then(loadHistory).catch(() => undefined)
      },
      // If the store is unavailable, there is only the reason; the old data stays.
      now: (value) => {
        now.value = value.error ? { ...now.peek(), ...value } : value
      },
      point: (point) => {
        points.value = [...points.peek(), point].slice(-HOUR_OF_POINTS)
      },
      approval: () => changed('approvals'),
      dead: () => changed('dead'),
    },
  )
})
