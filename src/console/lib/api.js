import { computed, signal } from '@preact/signals'
import { NO_LONGER_NEEDED } from './no-longer-needed.js'

/** The signed-in person, from `GET /v1/session`; undefined until known, null if no one is. */
export const person = signal()
/** Whether the person has read-only access. */
export const isViewer = computed(() => person.value?.roles?.includes('viewer') ?? false)
/** Whether the person may run a skill. */
export const mayRun = (skill) => person.value?.skills?.includes(skill) ?? true
/** The host of the identity provider, if people can sign in there. */
export const provider = signal()
/** Why the sign-in form is shown again. */
export const signInError = signal('')

/** Reads who is signed in, by the cookie that all tabs share and scripts cannot read. */
export async function findPerson() {
  const token = takeTokenFromAddress()
  if (token) return signIn(token)
  const session = await call('GET', '/v1/session').catch((error) => {
    signInError.value = error.message
    return {}
  })
  provider.value = session.provider
  person.value = session.person ?? null
}

/**
 * `trivium demo` prints a URL with the token after the `#`, which browsers do not send. It is
 * removed from the address immediately.
 */
function takeTokenFromAddress() {
  const [, token = ''] = /^#token=([\w.~-]+)/.exec(location.hash) ?? []
  if (token) history.replaceState(history.state, '', location.pathname)
  return token
}

/** Exchanges the control token for a cookie. */
export async function signIn(token, name = '') {
  signInError.value = ''
  const headers = { authorization: `Bearer ${token}` }
  try {
    const session = await call('POST', '/v1/session', { name }, undefined, headers)
    person.value = session.person
  } catch (error) {
    showSignIn(error.status === 401 ? 'This is not the control token.' : error.message)
  }
}

// A URL with a token may also be pasted into an open console.
addEventListener('hashchange', () => {
  const token = takeTokenFromAddress()
  if (token) signIn(token)
})

export async function signOut() {
  await call('POST', '/v1/session/end')
  showSignIn('')
}

function showSignIn(reason) {
  person.value = null
  signInError.value = reason
}

/**
 * An error response of the API: `status`, `code` (docs/errors.md) and, for wrong input, `details`:
 * `[{ path, message }]`. Without a response, `status` is 0 and `code` is `gone`.
 */
class ApiError extends Error {
  constructor(status, code, message, details = []) {
    super(message)
    this.status = status
    this.code = code
    this.details = details
  }
}

async function request(path, options = {}) {
  try {
    return await fetch(path, options)
  } catch (error) {
    if (error.name === 'AbortError') throw error
    throw new ApiError(0, 'gone', 'The daemon is not responding.')
  }
}

/** Number of calls that wait for a response. */
export const pendingCalls = signal(0)

/**
 * Calls the API and resolves with its result. Throws an `ApiError`. If the session has ended, shows
 * the sign-in form.
 */
export async function call(method, path, body, signal, headers = {}) {
  const json = body === undefined ? {} : { body: JSON.stringify(body) }
  const type = body === undefined ? {} : { 'content-type': 'application/json' }
  pendingCalls.value++
  try {
    const response = await request(path, { method, signal, ...json, headers: { ...type, ...headers } })
    if (!response.ok) throw await errorOf(response)
    const answer = await response.json().catch((error) => {
      throw error.name === 'AbortError'
        ? error
        : new ApiError(0, 'gone', 'The response of the daemon was cut off.')
    })
    return 'result' in answer ? answer.result : answer
  } finally {
    pendingCalls.value--
  }
}

async function errorOf(response) {
  const { error } = await response.json().catch(() => ({}))
  if (response.status === 401 && person.peek()) showSignIn('Your session has ended. Sign in again.')
  const {
    code = 'internal',
    message = `The daemon responded with status ${response.status}.`,
    details,
  } = error ?? {}
  return new ApiError(response.status, code, message, details)
}

/** Downloads an attachment of a message. */
export async function download(sha256, message) {
  const response = await request(`/v1/artifacts/${sha256}?${new URLSearchParams({ message })}`)
  if (!response.ok) throw await errorOf(response)
  return response.blob()
}

export const invoke = (skill, args = {}, signal) =>
  call('POST', `/v1/skills/${encodeURIComponent(skill)}`, args, signal)

/** The stream counts as broken after this time (ms). The daemon writes every ten seconds. */
const MAX_SILENCE = 25_000
/**
 * How long (ms) the stream of a hidden tab stays open. Browsers allow six connections per host,
 * which a few tabs would use up.
 */
const CLOSE_HIDDEN_AFTER = 10_000
/** Pauses (ms) before the stream is reopened. */
const BACKOFF = { first: 500, longest: 8_000 }

/**
 * Reads the event stream until the returned function is called. Reopens a broken stream where it
 * ended. `on` has a function per event name, and three others:
 * - `on.state(isLive)` is called when the connection is lost or restored.
 * - `on.lastId()` returns the id of the newest known message. It is used until the stream has sent
 *   one.
 * - `on.refused(error)` is called once if the daemon refuses the query. The stream then ends.
 */
export function openStream(query, on) {
  const end = new AbortController()
  let last
  let pause = BACKOFF.first

  /** Reads one connection to its end. */
  async function read() {
    const closing = new AbortController()
    let silenceTimer
    let hiddenTimer
    const onVisibility = () => {
      clearTimeout(hiddenTimer)
      if (document.hidden) hiddenTimer = setTimeout(() => closing.abort(NO_LONGER_NEEDED), CLOSE_HIDDEN_AFTER)
    }
    const onData = () => {
      clearTimeout(silenceTimer)
      silenceTimer = setTimeout(() => closing.abort(NO_LONGER_NEEDED), MAX_SILENCE)
    }
    document.addEventListener('visibilitychange', onVisibility)
    try {
      onData()
      onVisibility()
      const signal = AbortSignal.any([end.signal, closing.signal])
      const lastId = last ?? on.lastId?.()
      const headers = lastId === undefined ? {} : { 'last-event-id': lastId }
      const response = await request(`/v1/stream?${new URLSearchParams(query)}`, { signal, headers })
      if (!response.ok) throw await errorOf(response)
      on.state?.(true)
      pause = BACKOFF.first
      let rest = ''
      for await (const chunk of chunksOf(response.body.pipeThrough(new TextDecoderStream()))) {
        onData()
        const events = (rest + chunk).split('\n\n')
        rest = events.pop()
        for (const event of events) dispatch(event)
      }
    } finally {
      clearTimeout(silenceTimer)
      clearTimeout(hiddenTimer)
      document.removeEventListener('visibilitychange', onVisibility)
      closing.abort(NO_LONGER_NEEDED)
    }
  }

  /** Parses an event, and calls its function in `on`. */
  function dispatch(text) {
    const fields = {}
    for (const line of text.split('\n')) {
      const [, name, value] = /^(\w+): ?(.*)$/.exec(line) ?? []
      if (name) fields[name] = value
    }
    if (fields.id) last = fields.id
    if (fields.data) on[fields.event]?.(JSON.parse(fields.data))
  }

  /** Reopens the stream until its end. */
  async function run() {
    while (!end.signal.aborted && person.peek()) {
      const error = await read().catch((failure) => failure)
      if (end.signal.aborted) return
      if (on.refused && /^(400|403|404)$/.test(error?.status)) return on.refused(error)
      if (document.hidden) {
        await new Promise((resolve) => document.addEventListener('visibilitychange', resolve, { once: true }))
        continue
      }
      on.state?.(false)
      await new Promise((resolve) => setTimeout(resolve, pause * (0.5 + Math.random() / 2)))
      pause = Math.min(pause * 2, BACKOFF.longest)
    }
  }

  run()
  return () => end.abort(NO_LONGER_NEEDED)
}

/** The chunks of a stream. Safari does not support iterating over the stream itself. */
async function* chunksOf(stream) {
  const reader = stream.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    yield value
  }
}
