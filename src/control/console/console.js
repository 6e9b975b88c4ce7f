// The operator console. It has no rights of its own: it asks for the control token, keeps it for this tab,
// and calls the API with it. Whatever it shows came from outside, so it only ever sets text, never markup.

const REFRESH = 3000
const byId = (id) => document.getElementById(id)
let token = sessionStorage.getItem('token') ?? ''
let timer

/**
 * In the order of the page: the title of each section, its columns (`*`: this one takes the room that is left; a field, or what
 * makes the cell of a row), and what to say where there is nothing, without which it is hidden then.
 */
const SECTIONS = {
  roads: {
    title: 'Roads',
    columns: {
      'road*': 'road',
      messages: 'messages',
      oldest: ({ oldestAt }) => (oldestAt === undefined ? '-' : age(oldestAt)),
      dead: ({ dead }) => dead ?? '-',
    },
  },
  gateways: {
    title: 'Gateways',
    none: 'No gateway is configured.',
    columns: { name: 'name', transport: 'transport', 'state*': gatewayState },
  },
  approvals: {
    title: 'Waiting for approval',
    columns: {
      id: (one) => link(one.id, () => detail(one.title, one)),
      skill: 'skill',
      'asked by': 'by',
      'what*': ({ title, args }) => `${title} ${JSON.stringify(args)}`.slice(0, 500),
      age: ({ requestedAt }) => age(requestedAt),
      '': ({ id }) => buttons(['approve', decide(id, true)], ['deny', decide(id, false)]),
    },
  },
  dead: {
    title: 'Dead letters',
    none: 'None. Whatever cannot be delivered is kept here whole.',
    columns: {
      id: (letter) => link(letter.id, () => detail(letter.id, letter)),
      age: ({ at }) => age(at),
      queue: 'queue',
      route: 'group',
      'last error*': ({ errors, reason }) => errors.at(-1)?.message ?? reason,
      '': ({ id }) => buttons(['retry', () => act('dead-letter-retry', { id })], ['drop', () => drop(id)]),
    },
  },
  messages: {
    title: 'Messages',
    none: 'No message has come in yet.',
    columns: {
      message: ({ id }) => link(id, () => showMessage(id)),
      age: ({ receivedAt }) => age(receivedAt),
      gateway: 'gateway',
      from: ({ from }) => from.address ?? from.name ?? from.id,
      'text*': ({ subject, text }) => subject ?? text,
    },
  },
  groups: {
    title: 'Consumer groups',
    none: 'Nobody is subscribed.',
    columns: { topic: 'topic', 'group*': 'group', lag: 'lag', pending: 'pending' },
  },
  broken: { title: 'Broken skills', columns: { skill: 'name', 'reason*': 'reason' } },
}
for (const [id, { title }] of Object.entries(SECTIONS))
  byId('console').append(element('section', { id, 'aria-label': title }))

byId('sign-in').addEventListener('submit', (event) => {
  event.preventDefault()
  token = byId('token').value.trim()
  sessionStorage.setItem('token', token)
  refresh()
})
byId('sign-out').addEventListener('click', () => signIn(''))
// Bull Board's pages send no token: a cookie for them alone stands in for it.
byId('queues').addEventListener('click', async () => {
  const headers = { authorization: `Bearer ${token}` }
  const { ok } = await fetch('/queues/login', { method: 'POST', headers })
  if (ok) location.assign('/queues/')
})
refresh()

async function refresh() {
  clearTimeout(timer)
  if (token === '') return signIn('')
  try {
    const [status, messages, dead, approvals] = await Promise.all([
      call('GET', '/v1/status'),
      invoke('message-list', { limit: 25 }),
      invoke('dead-letter-list', { limit: 50 }),
      invoke('approval-list', { status: 'pending', limit: 50 }),
    ])
    const { version, store, startedAt, pid } = status
    turnTo('console', `${version} · ${store.kind} store · up ${age(startedAt)} · pid ${pid}`)
    byId('queues').hidden = !status.queues?.length
    const gateways = [...status.gateways, ...status.disabled]
    const lists = { ...status, gateways, messages, dead, approvals }
    for (const [id, { title, columns, none }] of Object.entries(SECTIONS)) {
      const content = table(columns, lists[id], none)
      byId(id).replaceChildren(element('h2', {}, title), content)
      byId(id).hidden = content === ''
    }
  } catch (error) {
    if (error.status === 401) return signIn('That is not the control token.')
    byId('summary').textContent = `The daemon does not answer: ${error.message}`
    byId('summary').className = 'bad'
  }
  timer = setTimeout(refresh, REFRESH)
}

function signIn(reason) {
  clearTimeout(timer)
  token = ''
  sessionStorage.removeItem('token')
  turnTo('sign-in', 'three roads from one door')
  byId('sign-in-error').textContent = reason
  byId('token').value = ''
  byId('token').focus()
}

function turnTo(view, summary) {
  byId('sign-in').hidden = view !== 'sign-in'
  byId('console').hidden = byId('sign-out').hidden = view !== 'console'
  byId('summary').textContent = summary
  byId('summary').className = ''
}

function gatewayState({ ok, detail, why }) {
  if (why !== undefined) return `off: ${why}`
  return element('span', { class: ok ? 'good' : 'bad' }, ok ? 'ok' : `failing: ${detail ?? ''}`)
}

function decide(id, approve) {
  return () => act('approval-decide', { id, approve })
}

function drop(id) {
  if (confirm(`Remove dead letter ${id} for good?`)) act('dead-letter-drop', { id })
}

async function showMessage(id) {
  const { message, history } = await invoke('message-show', { id })
  const columns = {
    time: ({ at }) => clock(at),
    road: 'road',
    what: 'what',
    '*': ({ detail }) => (detail ? JSON.stringify(detail) : ''),
  }
  detail(id, message, table(columns, history, 'Nothing has happened to it yet.'))
}

function detail(title, value, ...more) {
  byId('detail-title').textContent = title
  byId('detail-body').replaceChildren(element('pre', {}, JSON.stringify(value, null, 2)), ...more)
  byId('detail').showModal()
}

async function act(skill, args) {
  try {
    await invoke(skill, args)
  } catch (error) {
    alert(error.message)
  }
  refresh()
}

function invoke(name, args) {
  return call('POST', `/v1/skills/${name}`, args)
}

async function call(method, path, body) {
  const response = await fetch(path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const answer = await response.json()
  if (response.ok) return answer.result
  throw Object.assign(new Error(answer.error?.message ?? response.statusText), { status: response.status })
}

function table(columns, rows, none = '') {
  if (rows.length === 0) return none && element('p', { class: 'empty' }, none)
  const all = Object.entries(columns)
  const cell = (row, [head, what]) => {
    const value = typeof what === 'string' ? row[what] : what(row)
    const shown = value instanceof Node ? value : String(value ?? '')
    if (!head.endsWith('*')) return element('td', {}, shown)
    return element('td', { class: 'wide', title: typeof value === 'string' ? value : '' }, shown)
  }
  const titles = element('tr', {}, ...all.map(([head]) => element('th', {}, head.replace('*', ''))))
  const lines = rows.map((row) => element('tr', {}, ...all.map((column) => cell(row, column))))
  return element('div', { class: 'scroll' }, element('table', {}, titles, ...lines))
}

function buttons(...pairs) {
  return element('span', {}, ...pairs.flatMap(([text, action]) => [button(text, action), ' ']))
}

function button(text, action, kind = '') {
  const made = element('button', { class: kind, type: 'button' }, text)
  made.addEventListener('click', action)
  return made
}

/** The start of an id is enough to recognise it; the whole stands in the detail. */
function link(id, action) {
  const made = button(id.length > 24 ? `${id.slice(0, 8)}…${id.slice(-6)}` : id, action, 'link id')
  made.title = id
  return made
}

function element(name, attributes, ...children) {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) if (value !== '') made.setAttribute(key, value)
  made.append(...children)
  return made
}

function age(at) {
  const seconds = Math.max(0, Math.round((Date.now() - at) / 1000))
  if (seconds < 120) return `${seconds} s`
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} d`
}

function clock(at) {
  return new Date(at).toLocaleTimeString([], { hour12: false, fractionalSecondDigits: 3 })
}
