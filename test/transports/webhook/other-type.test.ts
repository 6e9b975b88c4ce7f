import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, test } from 'node:test'
import { startWebhook } from './harness.ts'

const FORM = 'application/x-www-form-urlencoded'
const signatureOf = (text: string) => ({ 'x-sign': createHmac('sha256', 'key').update(text).digest('hex') })
const verify = { scheme: 'hmac', header: 'x-sign', secret: 'key' }

describe('a captured delivery that is repeated with another content type', () => {
  const body = JSON.stringify({ id: 'evt-1', type: 'paid', name: 'Zoë' })

  for (const key of ['data.body.id', undefined]) {
    test(`is a duplicate if it is JSON, ${key ? 'with `key`' : 'by the hash of its body'}`, async () => {
      const options = key ? { key, verify } : { verify: { scheme: 'zoom', secret: 'key' } }
      const time = String(Math.floor(Date.now() / 1000))
      const zoom = createHmac('sha256', 'key').update(`v0:${time}:${body}`).digest('hex')
      const proof = key
        ? signatureOf(body)
        : { 'x-zm-request-timestamp': time, 'x-zm-signature': `v0=${zoom}` }
      const { post, store } = await startWebhook(options)
      for (const type of [
        'application/json',
        'application/json; charset=utf-16le',
        'text/plain; charset=windows-1252',
        'image/png',
        'text/csv',
        'application/octet-stream',
        `${FORM}; charset=utf-16le`,
      ]) {
        const { status } = await post(body, { ...proof, 'content-type': type })
        assert.ok(status < 300, `${type}: ${status}`)
      }
      assert.equal(store.messages.length, 1)
    })
  }

  test('is a duplicate as NDJSON, whose lines are text, one as well as several', async () => {
    const { post, store, last } = await startWebhook({ key: 'data.body.id', verify })
    const lines = { 'content-type': 'application/x-ndjson' }
    for (const type of ['application/json', 'application/x-ndjson'])
      await post(body, { ...signatureOf(body), 'content-type': type })
    assert.equal(store.messages.length, 1)
    for (const text of ['{"id":1}', '{"id":2}\n{"id":3}']) {
      await post(text, { ...signatureOf(text), ...lines })
      assert.deepEqual([last().data.format, last().text], ['text', text])
    }
  })

  test('is a duplicate if it is a form', async () => {
    const { post, store } = await startWebhook({ key: 'data.body.id', verify })
    const form = 'id=7&text=hi'
    for (const type of [
      FORM,
      `${FORM}; charset=utf-16le`,
      'text/plain',
      'image/png',
      'text/csv; charset=utf-16',
    ]) {
      const { status } = await post(form, { ...signatureOf(form), 'content-type': type })
      assert.ok(status < 300 || status === 400, `${type}: ${status}`)
    }
    assert.deepEqual(
      store.messages.map(({ data }) => data.body),
      [{ id: '7', text: 'hi' }],
    )
  })

  test('is a duplicate if it is a multipart form, also with another boundary', async () => {
    for (const key of ['data.body.id', '#']) {
      const { post, store } = await startWebhook({ key, verify })
      const part = (boundary: string, name: string, value: string) =>
        `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
      // With the inner boundary, the body is another form.
      const inner = `${part('in', 'id', '8')}--in--`
      const form = `${part('out', 'id', '7')}${part('out', 'note', inner)}--out--\r\n`
      for (const type of [
        'multipart/form-data; boundary=out',
        'multipart/form-data; boundary=in',
        'text/plain',
        'image/png',
        FORM,
      ])
        assert.ok((await post(form, { ...signatureOf(form), 'content-type': type })).status < 300, type)
      assert.deepEqual(
        store.messages.map(({ data }) => data.body),
        [{ id: '7', note: inner }],
      )
    }
  })

  test('is a duplicate if a text stands before or after the parts of its multipart form', async () => {
    const part = (boundary: string, name: string, value: string) =>
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
    const inner = `${part('in', 'id', '8')}--in--`
    const form = `${part('out', 'id', '7')}${part('out', 'note', inner)}--out--\r\n`
    for (const body of [
      `Sent by curl\r\n${form}`,
      `sent=now\r\n${form}`,
      `\r\n${form}`,
      `${form}and a longer text`,
    ])
      for (const key of ['data.body.id', '#']) {
        const { post, store } = await startWebhook({ key, verify })
        for (const type of [
          'multipart/form-data; boundary=out',
          'multipart/form-data; boundary=in',
          'text/plain',
          'image/png',
          'application/octet-stream',
          FORM,
        ])
          await post(body, { ...signatureOf(body), 'content-type': type })
        assert.deepEqual(
          store.messages.map(({ data }) => data.body),
          [{ id: '7', note: inner }],
          `${JSON.stringify(body)} ${key}`,
        )
      }
  })

  test('is a duplicate by the hash of its body if it is text, a file, or lines of JSON', async () => {
    for (const body of [
      '{"id":2}\n{"id":3}\n',
      'hello',
      '\ufeffa,b\n',
      'payload=%7B%22id%22%3A1%7D',
      'id=Zoë',
    ]) {
      const { post, store } = await startWebhook({ key: '#', verify })
      for (const type of [
        'application/x-ndjson',
        'text/plain',
        'text/plain; charset=utf-16le',
        'text/csv; charset=windows-1252',
        'image/png',
        'application/octet-stream',
        FORM,
      ])
        await post(body, { ...signatureOf(body), 'content-type': type })
      assert.equal(store.messages.length, 1, body)
    }
  })

  test('is a duplicate if it is a form that is not in UTF-8', async () => {
    const { post, store } = await startWebhook({ key: 'data.body.id', verify })
    const form = Buffer.from('id=7&name=Zo\xeb', 'latin1')
    const proof = { 'x-sign': createHmac('sha256', 'key').update(form).digest('hex') }
    for (const type of [`${FORM}; charset=windows-1252`, 'text/plain; charset=windows-1252', 'image/png'])
      assert.ok((await post(form, { ...proof, 'content-type': type })).status < 300, type)
    assert.equal(store.messages.length, 1)
  })

  test('is a duplicate if it is split, also as NDJSON', async () => {
    const { post, store } = await startWebhook({ key: 'id', split: 'data.body', verify })
    const list = '[{"id":1},{"id":2}]'
    for (const type of ['application/json', 'application/x-ndjson'])
      await post(list, { ...signatureOf(list), 'content-type': type })
    assert.equal(store.messages.length, 2)
  })

  test('keeps its own type if the type is signed, or nothing is', async () => {
    const signed = await startWebhook({ verify: { ...verify, template: '{header.content-type}{body}' } })
    await signed.post('{}', { ...signatureOf('text/csv{}'), 'content-type': 'text/csv' })
    const open = await startWebhook({})
    await open.post('{}', { 'content-type': 'text/csv' })
    assert.deepEqual([signed.last().data.format, open.last().data.format], ['text', 'text'])
  })
})

test('two files are not duplicates by the hash of the body, alone or in the same form', async () => {
  for (const options of [{}, { verify }]) {
    const { post, store } = await startWebhook({ key: '#', ...options })
    const send = (body: string, type: string) => post(body, { ...signatureOf(body), 'content-type': type })
    const form = (content: string) =>
      `--b\r\nContent-Disposition: form-data; name="f"; filename="a.txt"\r\n\r\n${content}\r\n--b--\r\n`
    for (const content of ['one', 'two', 'one', 'two']) {
      await send(content, 'image/png')
      await send(form(content), 'multipart/form-data; boundary=b')
    }
    assert.equal(store.messages.length, 4)
  }
})

describe('a form with a signed field', () => {
  const body = 'form.mandrill_events'
  const options = { body, verify: { ...verify, template: '{body.mandrill_events}' }, from: 'data.body.by' }
  const text = JSON.stringify({ by: 'ada' })

  test('verifies its sender if the field is the body', async () => {
    const { post, last } = await startWebhook(options)
    const form = new URLSearchParams({ mandrill_events: text }).toString()
    assert.equal((await post(form, { ...signatureOf(text), 'content-type': FORM })).status, 202)
    assert.deepEqual(last().from, { id: 'ada', verified: true })
    const elsewhere = await startWebhook({ ...options, body: 'form.other' })
    const both = `${form}&other=${encodeURIComponent('{"by":"eve","mandrill_events":"x"}')}`
    await elsewhere.post(both, { ...signatureOf('x'), 'content-type': FORM })
    assert.equal(elsewhere.last().from.verified, undefined)
  })

  test('is refused if the signed text is a field of its JSON', async () => {
    const { post } = await startWebhook(options)
    const forged = JSON.stringify({ by: 'eve', mandrill_events: text })
    const part = `--b\r\nContent-Disposition: form-data; name="mandrill_events"\r\n\r\n${forged}\r\n--b--\r\n`
    for (const [sent, type] of [
      [forged, 'application/json'],
      [part, 'multipart/form-data; boundary=b'],
    ] as const)
      assert.equal((await post(sent, { ...signatureOf(text), 'content-type': type })).status, 401, type)
  })
})

test('a notification of Microsoft Graph may begin with a byte order mark', async () => {
  const { post, last } = await startWebhook({ verify: { scheme: 'microsoft-graph', secret: 'key' } })
  const notification = JSON.stringify({ value: [{ id: 'n1', changeType: 'created', clientState: 'key' }] })
  assert.equal((await post(`\ufeff${notification}`, { 'content-type': 'application/json' })).status, 202)
  assert.doesNotMatch(JSON.stringify(last()), /clientState/)
  const form = new URLSearchParams({ payload: notification }).toString()
  assert.ok((await post(form, { 'content-type': FORM })).status < 500)
})
