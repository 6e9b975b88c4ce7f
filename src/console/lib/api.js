import { computed, signal } from '@preact/signals'

/** Who is signed in, as `GET /v1/session` says; undefined until that is known, null where somebody must sign in. */
export const person = signal()
/** Whether they may look and change nothing. */
export const isViewer = computed(() => person.value?.roles?.includes('viewer') ?? false)
/** The host of the identity provider where people can sign in, where there is one. */
export const provider = signal()
/** Why the sign-in is shown again. */
export const signInError = signal('')

/** Asks who is signed in in this browser: the cookie, which no script can read, is the same in every tab. */
export async function findPerson() {
  const given = tokenInAddress()
  if (given) return signIn(given)
  const found = await call('GET', '/v1/session').catch((error) => {
    signInError.value = error.message
    return {}
  })
  provider.value = found.provider
  person.value = found.person ?? null
}

/** `trivium demo` prints an address with the token behind the `#`, which browsers send to nobody; it leaves the address at once. */
function tokenInAddress() {
  const [, given = ''] = /^#token=([\w.~-]+)/.exec(location.hash) ?? []
  if (given) history.replaceState(history.state, '', location.pathname)
  return given
}

/** Trades the control token for a cookie. */
export async function signIn(token, name = '') {
  signInError.value = ''
  const headers = { authorization: `Bearer ${token}` }
  try {
    const found = await call('POST', '/v1/session', { name }, undefined, headers)
    person.value = found.person
  } catch (error) {
    showSignIn(error.status === 401 ? 'That is not the control token.' : error.message)
  }
}

// Such an address may also be pasted where the console is open already.
addEventListener('hashchange', () => {
  const given = tokenInAddress()
  if (given) signIn(given)
})

/** Ends the session in all tabs. */
export async function signOut() {
  await call('POST', '/v1/session/end')
  showSignIn('')
}

function showSignIn(reason) {
  person.value = null
  signInError.value = reason
}

/** What the API answered with an error: `status`, `code` of docs/errors.md, 0 and `gone` where nobody answers. */
class ApiError extends Error {
  constructor(status, code, message) {
    super(message)
    this.status = status
    this.code = code
  }
}

async function request(path, options = {}) {
  try {
    return await fetch(path, options)
  } catch (error) {
    if (error.name === 'AbortError') throw error
    throw new ApiError(0, 'gone', 'The daemon does not answer.')
  }
}

/** Calls that are on their way: what is shown may change with what comes. */
export const busy = signal(0)

/** Calls the API and resolves with its result. Throws an `ApiError`; a session that has ended leads to the sign-in. */
export async function call(method, path, body, signal, headers = {}) {
  const json = body === undefined ? {} : { body: JSON.stringify(body) }
  const type = body === undefined ? {} : { 'content-type': 'application/json' }
  busy.value++
  try {
    const response = await request(path, { method, signal, ...json, headers: { ...type, ...headers } })
    if (!response.ok) throw await errorOf(response)
    const answer = await response.json().catch((error) => {
      throw error.name === 'AbortError'
        ? error
        : new ApiError(0, 'gone', 'The answer of the daemon broke off.')
    })
    return 'result' in answer ? answer.result : answer
  } finally {
    busy.value--
  }
}

async function errorOf(response) {
  const { error } = await response.json().catch(() => ({}))
  if (response.status === 401 && person.peek()) showSignIn('Your session has ended. Sign in again.')
  const { code = 'internal', message = `It answered ${response.status}.` } = error ?? {}
  return new ApiError(response.status, code, message)
}

/** The bytes of a file that a message brought. */
export async function download(sha256, message) {
  const response = await request(`/v1/artifacts/${sha256}?${new URLSearchParams({ message })}`)
  if (!response.ok) throw await errorOf(response)
  return response.blob()
}

/** Invokes a skill. */
export const invoke = (skill, args = {}, signal) =>
  call('POST', `/v1/skills/${encodeURIComponent(skill)}`, args, signal)

/** Ms without a byte after which the stream counts as broken: the daemon writes every ten seconds. */
const SILENCE = 25_000
/** Ms that the stream of a tab goes on where nobody sees it. Browsers open six connections to one place: some tabs would take them all. */
const UNSEEN = 10_000
const PAUSE = { first: 500, longest: 8_000 }

/**
 * Reads the stream of events until the function that it returns is called; one that breaks is opened again, and goes on where it was.
 * `on` has a function for each event by its name; `on.state(isLive)` hears when the daemon is gone, and when it is back;
 * `on.known()` gives the newest message that is there already, where the stream has told of none; `on.refused(error)` hears, once and for
 * all, that what was asked for is nothing that there is a stream of.
 */
export function openStream(query, on) {
  const end = new AbortController()
  let last
  let pause = PAUSE.first

  async function read() {
    const silent = new AbortController()
    let timer
    let leaving
    const seen = () => {
      clearTimeout(leaving)
      if (document.hidden) leaving = setTimeout(() => silent.abort(), UNSEEN)
    }
    const heard = () => {
      clearTimeout(timer)
      timer = setTimeout(() => silent.abort(), SILENCE)
    }
    document.addEventListener('visibilitychange', seen)
    try {
      heard()
      seen()
      const signal = AbortSignal.any([end.signal, silent.signal])
      const known = last ?? on.known?.()
      const headers = known === undefined ? {} : { 'last-event-id': known }
      const response = await request(`/v1/stream?${new URLSearchParams(query)}`, { signal, headers })
      if (!response.ok) throw await errorOf(response)
      on.state?.(true)
      pause = PAUSE.first
      let rest = ''
      for await (const chunk of chunksOf(response.body.pipeThrough(new TextDecoderStream()))) {
        heard()
        const events = (rest + chunk).split('\n\n')
        rest = events.pop()
        for (const event of events) take(event)
      }
    } finally {
      clearTimeout(timer)
      clearTimeout(leaving)
      document.removeEventListener('visibilitychange', seen)
      silent.abort()
    }
  }

  function take(text) {
    const fields = {}
    for (const line of text.split('\n')) {
      const [, name, value] = /^(\w+): ?(.*)$/.exec(line) ?? []
      if (name) fields[name] = value
    }
    if (fields.id) last = fields.id
    if (fields.data) on[fields.event]?.(JSON.parse(fields.data))
  }

  async function keep() {
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
      pause = Math.min(pause * 2, PAUSE.longest)
    }
  }

  keep()
  return () => end.abort()
}

/** Safari cannot iterate over a stream. */
async function* chunksOf(stream) {
  const reader = stream.getReader()
  for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) yield value
}
