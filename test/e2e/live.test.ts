import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readStream } from '../fixtures/event-stream.ts'
import { suiteWithDaemon } from '../fixtures/suite.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  hook: { transport: webhook, path: /hook, verify: { scheme: none } }
tokens:
  - { name: reader, token: a-program-of-some-kind, skills: ["message-*"], gateways: ["*"] }
routes:
  - { name: twice, match: { text: "twice*" }, skill: twice, retry: { attempts: 2, delay: 600ms } }
  - { name: bad, match: { text: "bad*" }, skill: bad, retry: { attempts: 1 } }
  - { name: slow, match: { text: slow }, skill: slow }
  - { name: careful, match: { text: "careful*" }, skill: careful }
  - { name: all, match: { gateway: cli }, skill: echo }
`
const SKILLS = {
  bad: `export default { description: 'fails', run({ message }) { throw new Error('no ' + message.text.length + ' of that (HTTP 502)') } }`,
  twice: `const seen = new Set()
    export default { description: 'fails once', run({ message: { id }, log }) { log.info({}, 'trying'); if (!seen.has(id)) { seen.add(id); throw new Error('not yet') } return 'at last' } }`,
  slow: `export default { description: 'takes a while', run: () => new Promise((done) => setTimeout(done, 1300)) }`,
  careful: `export default { description: 'asks', metadata: { approval: true }, run: () => 'done' }`,
}

describe('what operators see', { timeout: 300_000 }, () => {
  const suite = suiteWithDaemon({ routes: ROUTES, skills: SKILLS })
  const submit = async (text: string, more: object = {}): Promise<string> => {
    const [control, headers] = [suite.daemon.control, authorized()]
    const body = JSON.stringify({ gateway: 'cli', text, ...more })
    const answer = await fetch(`${control}/v1/messages`, { method: 'POST', headers, body })
    return String(Object(await answer.json()).result.id)
  }
  const authorized = (token = suite.daemon.token) => {
    return { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  }
  const stream = (query = '', headers: Record<string, string> = {}) =>
    readStream(`${suite.daemon.control}/v1/stream${query}`, { ...authorized(), ...headers })

  test('the stream shows messages with their outcomes, approvals and dead letters', async (t) => {
    const all = await stream()
    const dead = await stream('?outcome=dead&only=message')
    const some = await stream('?text=HELLO&only=message,outcome')
    t.after(() => [all, dead, some].map(({ close }) => close()))
    assert.equal((await all.one('history')).data.every, 5000)
    const now = (await all.one('now')).data
    assert.deepEqual([now.store, now.approvals, now.draining], ['embedded', 0, false])
    // A reader that comes later gets a `now` too.
    const later = await stream('?only=now')
    t.after(() => later.close())
    await later.one('now')

    const matched = await stream(`?only=message,outcome&match=${encodeURIComponent('{"from":"ada"}')}`)
    t.after(() => matched.close())
    assert.equal((await stream('?match=%7B%22frm%22%3A1%7D')).status, 400)
    assert.equal((await stream('?match=none')).status, 400)
    const hello = await submit('hello', { from: 'ada' })
    await matched.one('message', ({ id }) => id === hello)
    const shown = await all.one('message', ({ id }) => id === hello)
    assert.partialDeepStrictEqual(shown.data, {
      gateway: 'cli',
      transport: 'cli',
      text: 'hello',
      from: { id: 'ada' },
    })
    assert.equal(shown.id, hello)
    await some.one('message', ({ id }) => id === hello)

    const twice = await submit('twice')
    await all.one('message', ({ id }) => id === twice)
    await all.one('outcome', ({ id, outcome }) => id === twice && outcome === 'done')
    const bad = await submit('bad')
    assert.deepEqual([...new Set(matched.events.map(({ data }) => data.id))], [hello])
    await dead.one('message', ({ id, outcome }) => id === bad && outcome === 'dead')
    const letter = await all.one('dead', ({ messageId }) => messageId === bad)
    assert.partialDeepStrictEqual(letter.data, {
      id: bad,
      queue: 'dispatch',
      group: 'bad',
      code: 'skill_failed',
    })
    await all.one('now', ({ deadLetters }) => Object(deadLetters).total === 1)

    const slow = await submit('slow')
    // A reply may be running at the same time; it is listed with `road: 'outbox'`.
    const ofDispatch = (entries: unknown) =>
      Array.from(Object(entries ?? []))
        .map(Object)
        .find(({ road }) => road === 'dispatch')
    const busy = await all.one('now', ({ running }) => ofDispatch(running) !== undefined)
    assert.partialDeepStrictEqual(ofDispatch(busy.data.running), { gateway: 'cli', count: 1 })
    await all.one('now', ({ roads }) => {
      const { messages, waiting, running } = Object(ofDispatch(roads))
      return messages === 1 && waiting === 0 && running === 1
    })
    await all.one('outcome', ({ id, outcome }) => id === slow && outcome === 'done')
    const careful = await submit('careful')
    const asked = await all.one('approval', ({ status }) => status === 'pending')
    await suite.daemon.invoke('approval-decide', { id: asked.data.id, approve: true })
    await all.one('approval', ({ status }) => status === 'approved')
    const rows = [...dead.events, ...some.events].map(({ data }) => data.id)
    assert.deepEqual([...new Set(rows)].toSorted(), [hello, bad].toSorted())

    const again = await stream('?only=message', { 'last-event-id': twice })
    t.after(again.close)
    await again.one('message', ({ id }) => id === careful)
    assert.deepEqual(
      again.events.map(({ id }) => id),
      [bad, slow, careful],
    )
  })

  test('a reader that cannot keep up gets the number of missed messages', async (t) => {
    const reader = await stream('?only=message')
    t.after(reader.close)
    const first = await submit('first')
    await reader.one('message', ({ id }) => id === first)
    await Promise.all(Array.from({ length: 600 }, (_, index) => submit(`many ${index}`)))
    const last = await submit('last')
    await reader.one('message', ({ id }) => id === last)
    const missed = reader.events.reduce(
      (sum, { event, data }) => sum + (event === 'gap' ? Number(data.missed) : 0),
      0,
    )
    const shown = new Set(
      reader.events.flatMap(({ event, data }) => (event === 'message' ? [String(data.id)] : [])),
    )
    // The first, 600, and the last.
    assert.equal(shown.size + missed, 602)
  })

  test('dead letters are grouped by error, and retried or dropped together in their order', async () => {
    const { invoke } = suite.daemon
    await invoke('dead-letter-drop', { all: true })
    const letters = async (filter: object) => Object(await invoke('dead-letter-list', filter))
    // Each has another length, and therefore another error.
    for (const text of ['bad 1', 'bad two', 'bad three']) await submit(text, { conversation: 'same' })
    await submit('bad')
    await until(async () => (await letters({})).length === 4, 'four dead letters')
    const groups = Object(await invoke('dead-letter-groups', { error: 'OF THAT' }))
    assert.equal(groups.length, 1)
    assert.partialDeepStrictEqual(groups[0], {
      queue: 'dispatch',
      group: 'bad',
      code: 'skill_failed',
      count: 4,
    })
    assert.match(groups[0].common, /no … of that \(HTTP 502\)$/)
    assert.equal((await letters({ pattern: groups[0].pattern, code: 'skill_failed' })).length, 4)
    assert.deepEqual(await letters({ code: 'forbidden' }), [])
    const [newest] = await letters({ limit: 1 })
    assert.equal((await letters({ before: `${newest.at}/${newest.id}` })).length, 3)
    assert.equal((await letters({ since: new Date(newest.at).toISOString() })).length >= 1, true)

    const step = { all: true, until: new Date().toISOString(), limit: 3, group: 'bad' }
    assert.partialDeepStrictEqual(await invoke('dead-letter-retry', step), { ok: true, count: 3, more: true })
    assert.partialDeepStrictEqual(await invoke('dead-letter-retry', step), {
      ok: true,
      count: 1,
      more: false,
    })
    const again = await until(async () => {
      const found = await letters({ since: step.until })
      return found.length === 4 && found
    }, 'the same four dead letters')
    const texts = again.map((letter: { message: { text: string } }) => letter.message.text)
    const order = texts.filter((text: string) => text !== 'bad')
    // Newest first: they ran again in their old order.
    assert.deepEqual(order, ['bad three', 'bad two', 'bad 1'])
    const dropped = Object(await invoke('dead-letter-drop', { all: true, error: 'of that' }))
    assert.partialDeepStrictEqual(dropped, { ok: true, count: 4, more: false })
    assert.equal(dropped.messages.length, 4)
    await assert.rejects(invoke('dead-letter-drop', {}), /skill_args_invalid/)
    await assert.rejects(invoke('dead-letter-list', { before: 'x' }), /usage/)
    for (const list of ['message-list', 'message-search'])
      await assert.rejects(invoke(list, { before: 'x' }), /expected the id of a message/)
  })

  test('a message has its attempts with errors, its log lines and what was sent', async () => {
    const id = await submit('twice again')
    const show = async () => Object(await suite.daemon.invoke('message-show', { id }))
    const { history, logs } = await until(async () => {
      const shown = await show()
      return shown.outcome === 'done' && JSON.stringify(shown.history).includes('"sent"') && shown
    }, 'the end of the message')
    const [failed, done, sent] = ['failed', 'done', 'sent'].map((what) =>
      history.find((note: { what: string }) => note.what === what),
    )
    assert.partialDeepStrictEqual(failed.detail, { route: 'twice', attempt: 1, code: 'skill_failed' })
    assert.match(failed.detail.error, /not yet/)
    assert.ok(failed.detail.ms >= 0 && done.detail.ms >= 0)
    assert.partialDeepStrictEqual(sent.detail, { text: 'at last' })
    assert.partialDeepStrictEqual(
      logs.map(({ level, message, skill }: Record<string, string>) => ({ level, message, skill })),
      [
        { level: 'info', message: 'trying', skill: 'twice' },
        { level: 'warn', message: 'the attempt failed; the message will be dispatched again' },
        { level: 'info', message: 'trying', skill: 'twice' },
      ],
    )
    assert.match(logs[1].stack, /not yet/)
    const headers = authorized('a-program-of-some-kind')
    const body = JSON.stringify({ id })
    const asked = await fetch(`${suite.daemon.control}/v1/skills/message-show`, {
      method: 'POST',
      headers,
      body,
    })
    assert.deepEqual(Object.keys(Object(await asked.json()).result).includes('logs'), false)
  })

  test('a conversation is listed and shown as a chat, and its messages can be resent with another text', async () => {
    const { invoke } = suite.daemon
    const conversation = 'c-1'
    const ids = [await submit('one', { conversation }), await submit('two', { conversation, from: 'ada' })]
    const show = async (more: object = {}) =>
      Object(await invoke('conversation-show', { gateway: 'cli', conversation, ...more }))
    const rowsOf = (entries: Record<string, string>[]) =>
      entries.map(({ role, text, state }) => [role, text, state])
    const hasEntries = async (count: number) => (await show()).entries.length === count
    await until(() => hasEntries(4), 'both answers')
    const { entries } = await show()
    assert.deepEqual(
      rowsOf(entries).toSorted(),
      [
        ['reply', 'You said: one', 'sent'],
        ['reply', 'You said: two', 'sent'],
        ['sender', 'one', undefined],
        ['sender', 'two', undefined],
      ].toSorted(),
    )
    assert.equal(entries[0].text, 'one')
    const newest = await show({ limit: 1 })
    assert.deepEqual(rowsOf(newest.entries), [
      ['sender', 'two', undefined],
      ['reply', 'You said: two', 'sent'],
    ])
    assert.equal((await show({ limit: 1, before: newest.next })).entries[0].text, 'one')

    const resent = Object(await invoke('message-resend', { id: ids[1], text: 'two and a half' }))
    assert.equal(resent.resends, ids[1])
    await until(() => hasEntries(6), 'the answer to the resent message')
    const { message } = Object(await invoke('message-show', { id: resent.id }))
    assert.deepEqual([message.from, message.conversation], [{ id: 'ada' }, conversation])
    assert.deepEqual(message.data.resent, { of: ids[1], by: 'http control', edited: true })
    const { history } = Object(await invoke('message-show', { id: ids[1] }))
    assert.deepEqual(history.at(-1).detail, { as: resent.id, by: 'http control' })
    const same = Object(await invoke('message-resend', { id: ids[0] }))
    const { message: again } = Object(await invoke('message-show', { id: same.id }))
    assert.deepEqual([again.from.verified, again.data.resent.edited, again.text], [true, false, 'one'])
    await assert.rejects(invoke('message-resend', { id: 'nobody' }), /message_not_found/)

    const { conversations } = Object(await invoke('conversation-list', {}))
    assert.partialDeepStrictEqual(conversations[0], {
      gateway: 'cli',
      conversation,
      messages: 4,
      text: 'one',
    })
    const keys = conversations.map((one: { conversation: string }) => one.conversation)
    assert.equal(new Set(keys).size, keys.length)
    const page = Object(await invoke('conversation-list', { limit: 1 }))
    assert.deepEqual([page.conversations.length, page.conversations[0].conversation], [1, conversation])
    const rest = Object(await invoke('conversation-list', { limit: 1, before: page.next }))
    assert.notEqual(rest.conversations[0].conversation, conversation)
  })

  test('a consumer group can be moved to the start or the end of its topic', async () => {
    const { invoke } = suite.daemon
    const group = { topic: 'orders', queue: 'audit' }
    const read = async () =>
      Object(await invoke('event-wait', { ...group, timeout: 0 })).map(({ data }: { data: number }) => data)
    await assert.rejects(invoke('event-seek', { ...group, to: 'now' }), /group_not_found/)
    await invoke('event-subscribe', group)
    for (const data of [1, 2]) await invoke('event-emit', { topic: 'orders', data })
    assert.deepEqual(await read(), [1, 2])
    await invoke('event-seek', { ...group, to: 'start' })
    assert.deepEqual(await read(), [1, 2])
    await invoke('event-emit', { topic: 'orders', data: 3 })
    await invoke('event-seek', { ...group, to: 'now' })
    assert.deepEqual(await read(), [])
  })

  test('tokens of programs cannot read the stream or the history, and a stream ends with its daemon', async () => {
    const refused = await fetch(`${suite.daemon.control}/v1/stream`, {
      headers: authorized('a-program-of-some-kind'),
    })
    assert.equal(refused.status, 403)
    const history = await fetch(`${suite.daemon.control}/v1/history`, {
      headers: authorized('a-program-of-some-kind'),
    })
    assert.equal(history.status, 403)
    const wrong = await stream('?outcome=lost')
    assert.equal(wrong.status, 400)
    const reader = await stream('?only=now')
    await reader.one('now')
    await suite.restart()
    await reader.ended
  })
})
