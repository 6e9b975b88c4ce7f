// The operator console. It has no rights of its own: it asks for the control token, keeps it for this tab,
// and calls the API with it. Whatever it shows came from outside, so it only ever sets text, never markup.

const REFRESH = 3000
const byId = (id) => document.getElementById(id)
let token = sessionStorage.getItem('token') ?? ''
let timer

byId('sign-in').addEventListener('submit', (event) => {
  event.preventDefault()
  token = byId('token').value.trim()
  sessionStorage.setItem('token', token)
  refresh()
})
byId('sign-out').addEventListener('click', () => signIn(''))
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
    show({ status, messages, dead, approvals })
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
  byId('sign-in').hidden = false
  byId('console').hidden = true
  byId('sign-out').hidden = true
  byId('sign-in-error').textContent = reason
  byId('summary').textContent = 'three roads from one door'
  byId('summary').className = ''
  byId('token').value = ''
  byId('token').focus()
}

function show({ status, messages, dead, approvals }) {
  byId('sign-in').hidden = true
  byId('console').hidden = false
  byId('sign-out').hidden = false
  byId('summary').className = ''
  byId('summary').textContent =
    `${status.version} · ${status.store.kind} store · up ${age(status.startedAt)} · pid ${status.pid}`
  showRoads(status)
  byId('gateways').replaceChildren(gatewayTable(status))
  byId('messages').replaceChildren(messageTable(messages))
  byId('dead').replaceChildren(deadTable(dead))
  byId('groups').replaceChildren(groupTable(status.groups))
  section('approvals', approvals, approvalTable)
  section('broken', status.broken, brokenTable)
}

function section(name, rows, make) {
  byId(`${name}-section`).hidden = rows.length === 0
  byId(name).replaceChildren(make(rows))
}

function showRoads({ stats }) {
  const job = (queue) => stats.jobs.find((one) => one.queue === queue) ?? { waiting: 0, running: 0, dead: 0 }
  const dispatch = job('dispatch')
  const outbox = job('outbox')
  const cards = [
    ['journal', stats.journal.messages, 'messages kept'],
    ['dispatch', stats.dispatch.unpumped + dispatch.waiting, `waiting, ${dispatch.running} running`],
    ['receive', stats.receive.ready, oldest('to be taken', stats.receive.oldestAt)],
    ['outbox', outbox.waiting, `replies to send, ${outbox.running} under way`],
  ]
  byId('roads').replaceChildren(
    ...cards.map(([name, count, note]) =>
      element(
        'div',
        { class: 'card' },
        element('span', {}, name),
        element('b', {}, String(count)),
        element('span', {}, note),
      ),
    ),
  )
}

function oldest(note, at) {
  return at === undefined ? note : `${note}, oldest ${age(at)}`
}

function gatewayTable({ gateways, disabled }) {
  const rows = [
    ...gateways.map((one) => [one.name, one.transport, state(one.ok, one.detail)]),
    ...disabled.map((one) => [one.name, one.transport, `off: ${one.why}`]),
  ]
  return table(['name', 'transport', { text: 'state', wide: true }], rows, 'No gateway is configured.')
}

function state(ok, detail) {
  return element('span', { class: ok ? 'good' : 'bad' }, ok ? 'ok' : `failing: ${detail ?? ''}`)
}

function messageTable(messages) {
  const rows = messages.map((message) => [
    link(message.id, () => showMessage(message.id)),
    age(message.receivedAt),
    message.gateway,
    message.from.address ?? message.from.name ?? message.from.id,
    message.subject ?? message.text,
  ])
  return table(
    ['message', 'age', 'gateway', 'from', { text: 'text', wide: true }],
    rows,
    'No message has come in yet.',
  )
}

function deadTable(dead) {
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

function approvalTable(approvals) {
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

function groupTable(groups) {
  const rows = groups.map((one) => [one.topic, one.group, one.lag, one.pending])
  return table(['topic', { text: 'group', wide: true }, 'lag', 'pending'], rows, 'Nobody is subscribed.')
}

function brokenTable(broken) {
  return table(
    ['skill', { text: 'reason', wide: true }],
    broken.map((one) => [one.name, one.reason]),
    '',
  )
}

async function showMessage(id) {
  const { message, history } = await invoke('message-show', { id })
  const rows = history.map((note) => [
    clock(note.at),
    note.road,
    note.what,
    note.detail ? JSON.stringify(note.detail) : '',
  ])
  const past = table(
    ['time', 'road', 'what', { text: '', wide: true }],
    rows,
    'Nothing has happened to it yet.',
  )
  detail(id, message, past)
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
  if (rows.length === 0) return element('p', { class: 'empty' }, empty)
  const columns = head.map((one) => (typeof one === 'string' ? { text: one } : one))
  const cells = (row) =>
    row.map((value, index) => {
      const kind = columns[index].wide ? 'wide' : typeof value === 'number' ? 'number' : ''
      const title = columns[index].wide && typeof value === 'string' ? { title: value } : {}
      return element('td', { class: kind, ...title }, value instanceof Node ? value : String(value ?? ''))
    })
  return element(
    'div',
    { class: 'scroll' },
    element(
      'table',
      {},
      element('tr', {}, ...columns.map(({ text }) => element('th', {}, text))),
      ...rows.map((row) => element('tr', {}, ...cells(row))),
    ),
  )
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
