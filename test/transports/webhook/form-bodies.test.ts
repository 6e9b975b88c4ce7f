import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { decodeMessage, encodeMessage } from '../../../src/core/message.ts'
import { startWebhook } from './harness.ts'
import { FORM, JPEG, multipart } from './multipart.ts'

describe('a multipart form', () => {
  test('of Plex gives its payload as the body and the poster as an attachment', async () => {
    const { post, last, dir } = await startWebhook({
      event: 'data.body.event',
      from: 'data.body.Account.title',
    })
    const payload = {
      event: 'media.play',
      user: true,
      Account: { id: 1, title: 'elan' },
      Player: { local: true, title: 'Plex Web (Safari)' },
      Metadata: { librarySectionID: 1224, title: 'Love The One You’re With', ratingKey: '1936545' },
    }
    const parts = [
      { name: 'payload', value: JSON.stringify(payload), type: 'application/json' },
      { name: 'thumb', file: 'thumb.jpg', type: 'image/jpeg', value: JPEG },
    ]
    assert.equal((await post(multipart(parts), FORM)).status, 202)
    const { data, from, text, attachments } = last()
    assert.deepEqual(
      [data.body, data.event, from.id, text],
      [payload, 'media.play', 'elan', JSON.stringify(payload)],
    )
    assert.deepEqual(data.files, [{ field: 'thumb', name: 'thumb.jpg' }])
    const [thumb] = attachments
    assert.deepEqual([thumb?.name, thumb?.type, thumb?.size], ['thumb.jpg', 'image/jpeg', JPEG.length])
    assert.deepEqual(await readFile(join(dir, thumb?.path ?? '')), JPEG)
    assert.deepEqual(decodeMessage(last(), encodeMessage(last())).data.body, payload)
  })

  test('of JotForm gives its fields as the body, with repeated fields as lists', async () => {
    const { post, last } = await startWebhook()
    const fields = [
      { name: 'formID', value: '241513217711043' },
      { name: 'submissionID', value: '5942519912412334567' },
      { name: 'rawRequest', value: '{"slug":"submit\\/241513217711043","q3_name":{"first":"Ada"}}' },
      { name: 'pretty', value: 'Name:Ada Lovelace, Grüße:ja' },
      { name: 'q5[]', value: 'one' },
      { name: 'q5[]', value: 'two' },
      { name: '__proto__', value: 'a field' },
    ]
    assert.equal((await post(multipart(fields), FORM)).status, 202)
    assert.equal(last().data.format, 'multipart')
    const body = Object(last().data.body)
    assert.deepEqual([body.submissionID, body.pretty], ['5942519912412334567', 'Name:Ada Lovelace, Grüße:ja'])
    assert.deepEqual(
      [body['q5[]'], Object.getOwnPropertyDescriptor(body, '__proto__')?.value],
      [['one', 'two'], 'a field'],
    )
    assert.deepEqual(JSON.parse(last().text), JSON.parse(JSON.stringify(body)))
  })

  test('has the values of parts that are declared as JSON, also null', async () => {
    const { post, last } = await startWebhook()
    const type = 'application/json'
    const parts = [
      { name: 'a', value: 'null', type },
      { name: 'b', value: '[1]', type },
      { name: 'c', value: 'no JSON', type },
    ]
    assert.equal((await post(multipart(parts), FORM)).status, 202)
    assert.deepEqual(last().data.body, { a: null, b: [1], c: 'no JSON' })
  })

  test('of Mailgun gives a mail with its attachments', async () => {
    const { post, last } = await startWebhook({ text: 'data.body.stripped-text' })
    const parts = [
      { name: 'sender', value: 'ada@example.org' },
      { name: 'stripped-text', value: 'Hi Bob' },
      { name: 'attachment-count', value: '2' },
      { name: 'attachment-1', file: '../ada/Übersicht.pdf', type: 'application/pdf', value: '%PDF-1.4' },
      { name: 'attachment-2', file: '', type: 'application/octet-stream', value: '' },
      { name: 'attachment-3', file: 'notes.txt', type: 'text/plain; charset=utf-8', value: 'a\r\n--b' },
    ]
    assert.equal((await post(multipart(parts), FORM)).status, 202)
    assert.equal(last().text, 'Hi Bob')
    assert.deepEqual(
      last().attachments.map(({ name, type, size }) => [name, type, size]),
      [
        ['Übersicht.pdf', 'application/pdf', 8],
        ['notes.txt', 'text/plain', 6],
      ],
    )
  })

  test('is read whatever its boundary, preamble and line ends', async () => {
    const { post, last } = await startWebhook()
    const field = 'Content-Disposition: form-data; name=a\r\n\r\n1\r\n'
    const bodies: [type: string, body: string][] = [
      ['multipart/form-data; boundary=x', `--x\r\n${field}--x--`],
      ['multipart/form-data; charset=utf-8; boundary="x"', `--x\r\n${field}--x--\r\n`],
      ['Multipart/Form-Data;Boundary=x', `a preamble\r\n--x\r\n${field}--x--\r\nan epilogue`],
      ['multipart/form-data; boundary=x', `\r\n--x\r\n${field}--x--\r\n`],
      ['multipart/form-data; boundary="a b:c"', `--a b:c\r\n${field}--a b:c--`],
    ]
    for (const [type, body] of bodies) {
      assert.equal((await post(body, { 'content-type': type })).status, 202, type)
      assert.deepEqual(last().data.body, { a: '1' }, type)
    }
  })

  test('of Inbound Parse by SendGrid has each part in the charset that the field `charsets` names', async () => {
    const { post, last } = await startWebhook()
    const parts = [
      { name: 'charsets', value: '{"text":"iso-8859-2","subject":"UTF-8"}' },
      { name: 'text', value: Buffer.from([0xb3, 0xf3, 0x64, 0xbc]) },
      { name: 'subject', value: 'Łódź' },
      { name: 'other', value: Buffer.from([0x80]) },
      { name: 'constructor', value: Buffer.from([0x80]) },
    ]
    await post(multipart(parts), FORM)
    assert.deepEqual(Object.values(Object(last().data.body)).slice(1), ['łódź', 'Łódź', '€', '€'])
  })

  test('may be compressed', async () => {
    const { post, last } = await startWebhook()
    await post(gzipSync(multipart([{ name: 'a', value: '2' }])), { ...FORM, 'content-encoding': 'gzip' })
    assert.deepEqual(last().data.body, { a: '2' })
  })

  test('that is broken is refused with the reason, and is not accepted in part', async () => {
    const { post, store } = await startWebhook()
    const whole = multipart([
      { name: 'a', value: '1' },
      { name: 'b', file: 'b', value: JPEG },
    ]).toString('latin1')
    const bad: [type: string, body: string][] = [
      ['multipart/form-data', whole],
      ['multipart/form-data; boundary=', whole],
      ['multipart/form-data; boundary=other', whole],
      [FORM['content-type'], 'not a form'],
      [FORM['content-type'], whole.slice(0, -10)],
      [FORM['content-type'], whole.slice(0, 120)],
      [`multipart/form-data; boundary=${'x'.repeat(100)}`, whole],
      [
        FORM['content-type'],
        multipart(Array.from({ length: 1_001 }, () => ({ name: 'a', value: '' }))).toString(),
      ],
      [
        FORM['content-type'],
        multipart(Array.from({ length: 101 }, () => ({ name: 'a', file: 'f', value: '1' }))).toString(),
      ],
    ]
    for (const [type, body] of bad) {
      const { status, body: answer } = await post(Buffer.from(body, 'latin1'), { 'content-type': type })
      assert.deepEqual([status, answer.error?.code], [400, 'bad_request'], type)
      assert.match(answer.error?.message ?? '', /its multipart body cannot be read: /)
    }
    assert.equal(store.acceptCalls, 0)
  })
})

describe('the names in a multipart form', () => {
  test('are those given to fetch: only its escapes of quotes and line ends are decoded', async () => {
    for (const name of ['a"b.txt', 'a%2fb 100%.txt', 'line\r\nend.txt', '"".txt', 'ä“€.txt']) {
      const { hook, last } = await startWebhook()
      const form = new FormData()
      form.set('the "file"', new File(['hello'], name))
      form.set('a "field"', 'words')
      assert.equal((await fetch(hook, { method: 'POST', body: form })).status, 202)
      assert.deepEqual(last().data.files, [{ field: 'the "file"', name }])
      assert.deepEqual(last().data.body, { 'a "field"': 'words' })
      assert.equal(last().attachments?.[0]?.name, name)
    }
  })

  test('are decoded once if `filename*` encodes them', async () => {
    const { post, last } = await startWebhook()
    const head = `Content-Disposition: form-data; name="f"; filename="x"; filename*=UTF-8''a%2522b.txt`
    const body = `--xYz\r\n${head}\r\n\r\nhello\r\n--xYz--\r\n`
    assert.equal((await post(body, { 'content-type': 'multipart/form-data; boundary=xYz' })).status, 202)
    assert.deepEqual(last().data.files, [{ field: 'f', name: 'a%22b.txt' }])
  })
})
