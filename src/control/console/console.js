// The operator console. It has no rights of its own: it asks for the control token, keeps it for this tab,
// and calls the API with it. Whatever it shows came from outside, so it only ever sets text, never markup.

const REFRESH = 3000
const byId = (id) => document.getElementById(id)
let token = sessionStorage.getItem('token') ?? ''
let timer

/** In the order of the page: the title of each section, and what makes its content; without any it is hidden. */
const SECTIONS = {
  roads: ['Roads', roadTable],
  gateways: ['Gateways', gatewayTable],
  approvals: ['Waiting for approval', approvalTable],
  dead: ['Dead letters', deadTable],
  messages: ['Messages', messageTable],
  groups: ['Consumer groups', groupTable],
  broken: ['Broken skills', brokenTable],
}
for (const [id, [title]] of Object.entries(SECTIONS))
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
    for (const [id, [title, make]] of Object.entries(SECTIONS)) {
      const content = make({ ...status, messages, dead, approvals })
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

function roadTable({ roads }) {
  const rows = roads.map(({ road, messages, oldestAt, dead }) => [
    road,
    messages,
    oldestAt === undefined ? '-' : age(oldestAt),
    dead ?? '-',
  ])
  return table([{ text: 'road', wide: true }, 'messages', 'oldest', 'dead'], rows, '')
}

function gatewayTable({ gateways, disabled }) {
  const rows = [
    ...gateways.map(({ name, transport, ok, detail }) => [
      name,
      transport,
      element('span', { class: ok ? 'good' : 'bad' }, ok ? 'ok' : `failing: ${detail ?? ''}`),
    ]),
    ...disabled.map((one) => [one.name, one.transport, `off: ${one.why}`]),
  ]
  return table(['name', 'transport', { text: 'state', wide: true }], rows, 'No gateway is configured.')
}

function messageTable({ messages }) {
  const rows = messages.map((message) => [
    link(message.id, () => showMessage(message.id)),
    age(message.receivedAt),
    message.gateway,
    message.from.address ?? message.from.name ?? message.from.id,
    message.subject ?? message.text,
  ])
  const head = ['message', 'age', 'gateway', 'from', { text: 'text', wide: true }]
  return table(head, rows, 'No message has come in yet.')
}

function deadTable({ dead }) {
  const rows = dead.map((letter) => [
    link(letter.id, () => detail(letter.id, letter)),
    age(letter.at),
    letter.queue,
    letter.group,
    letter.errors.at(-1)?.message ?? letter.reason,
    buttons(['retry', () => act('dead-letter-retry', { id: letter.id })], ['drop', () => drop(letter.id)]),
  ])
  const head = ['id', 'age', 'queue', 'route', { text: 'last error', wide: true }, '']
  return table(head, rows, 'None. Whatever cannot be delivered is kept here whole.')
}

function drop(id) {
  if (confirm(`Remove dead letter ${id} for good?`)) act('dead-letter-drop', { id })
}

function approvalTable({ approvals }) {
  const decide = (id, approve) => () => act('approval-decide', { id, approve })
  const rows = approvals.map((one) => [
    link(one.id, () => detail(one.title, one)),
    one.skill,
    one.by,
    `${one.title} ${JSON.stringify(one.args)}`.slice(0, 500),
    age(one.requestedAt),
    buttons(['approve', decide(one.id, true)], ['deny', decide(one.id, false)]),
  ])
  return table(['id', 'skill', 'asked by', { text: 'what', wide: true }, 'age', ''], rows, '')
}

function groupTable({ groups }) {
  const rows = groups.map((one) => [one.topic, one.group, one.lag, one.pending])
  return table(['topic', { text: 'group', wide: true }, 'lag', 'pending'], rows, 'Nobody is subscribed.')
}

function brokenTable({ broken }) {
  const rows = broken.map((one) => [one.name, one.reason])
  return table(['skill', { text: 'reason', wide: true }], rows, '')
}

async function showMessage(id) {
  const { message, history } = await invoke('message-show', { id })
  const rows = history.map((note) => [
    clock(note.at),
    note.road,
    note.what,
    note.detail ? JSON.stringify(note.detail) : '',
  ])
  const head = ['time', 'road', 'what', { text: '', wide: true }]
  detail(id, message, table(head, rows, 'Nothing has happened to it yet.'))
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

function table(head, rows, empty) {
  if (rows.length === 0) return empty && element('p', { class: 'empty' }, empty)
  const columns = head.map((one) => (typeof one === 'string' ? { text: one } : one))
  const cells = (row) =>
    row.map((value, index) => {
      const kind = columns[index].wide ? 'wide' : ''
      const title = columns[index].wide && typeof value === 'string' ? { title: value } : {}
      return element('td', { class: kind, ...title }, value instanceof Node ? value : String(value ?? ''))
    })
  const titles = element('tr', {}, ...columns.map(({ text }) => element('th', {}, text)))
  const lines = rows.map((row) => element('tr', {}, ...cells(row)))
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
