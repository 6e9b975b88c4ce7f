import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { decodeMessage, encodeMessage } from '../../../src/core/message.ts'
import { webhookOptions } from '../../../transports/webhook/config.ts'
import { json, startWebhook } from './harness.ts'

type Part = { name: string; value: string | Buffer; file?: string; type?: string; encoding?: string }

/** As browsers and curl write a form. */
function multipart(parts: Part[], boundary = '----WebKitFormBoundaryzWHSJPyjJL8Up7wv'): Buffer<ArrayBuffer> {
  const pieces = parts.flatMap(({ name, value, file, type }) => [
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file === undefined ? '' : `; filename="${file}"`}\r\n`,
    `${type ? `Content-Type: ${type}\r\n` : ''}\r\n`,
    value,
    '\r\n',
  ])
  return Buffer.concat([...pieces, `--${boundary}--\r\n`].map((piece) => Buffer.from(piece)))
}

const FORM = { 'content-type': 'multipart/form-data; boundary=----WebKitFormBoundaryzWHSJPyjJL8Up7wv' }
const JPEG = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0x0d, 0x0a, 0x2d, 0x2d, 0x00, 0xff, 0xd9])

describe('a form with files', () => {
  test('of Plex is its payload, with the poster as an attachment', async () => {
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

  test('of JotForm is its fields, with what repeats as a list, and of Mailgun a mail with its attachments', async () => {
    const { post, last } = await startWebhook({ text: 'data.body.stripped-text' })
    const jotform = [
      { name: 'formID', value: '241513217711043' },
      { name: 'submissionID', value: '5942519912412334567' },
      { name: 'rawRequest', value: '{"slug":"submit\\/241513217711043","q3_name":{"first":"Ada"}}' },
      { name: 'pretty', value: 'Name:Ada Lovelace, Grüße:ja' },
      { name: 'q5[]', value: 'one' },
      { name: 'q5[]', value: 'two' },
      { name: '__proto__', value: 'own' },
    ]
    assert.equal((await post(multipart(jotform), FORM)).status, 202)
    assert.equal(last().data.format, 'multipart')
    const body = Object(last().data.body)
    assert.deepEqual([body.submissionID, body.pretty], ['5942519912412334567', 'Name:Ada Lovelace, Grüße:ja'])
    assert.deepEqual(
      [body['q5[]'], Object.getOwnPropertyDescriptor(body, '__proto__')?.value],
      [['one', 'two'], 'own'],
    )
    assert.deepEqual(JSON.parse(last().text), JSON.parse(JSON.stringify(body)))
    const mailgun = [
      { name: 'sender', value: 'ada@example.org' },
      { name: 'stripped-text', value: 'Hi Bob' },
      { name: 'attachment-count', value: '2' },
      { name: 'attachment-1', file: '../ada/Übersicht.pdf', type: 'application/pdf', value: '%PDF-1.4' },
      { name: 'attachment-2', file: '', type: 'application/octet-stream', value: '' },
      { name: 'attachment-3', file: 'notes.txt', type: 'text/plain; charset=utf-8', value: 'a\r\n--b' },
    ]
    assert.equal((await post(multipart(mailgun), FORM)).status, 202)
    assert.equal(last().text, 'Hi Bob')
    assert.deepEqual(
      last().attachments.map(({ name, type, size }) => [name, type, size]),
      [
        ['Übersicht.pdf', 'application/pdf', 8],
        ['notes.txt', 'text/plain', 6],
      ],
    )
  })

  test('may be written in many ways', async () => {
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
    // SendGrid’s Inbound Parse sends each part of a mail in the charset that it was written in.
    const parts = [
      { name: 'charsets', value: '{"text":"iso-8859-2","subject":"UTF-8"}' },
      { name: 'text', value: Buffer.from([0xb3, 0xf3, 0x64, 0xbc]) },
      { name: 'subject', value: 'Łódź' },
      { name: 'other', value: Buffer.from([0x80]) },
    ]
    await post(multipart(parts), FORM)
    const { text, subject, other } = Object(last().data.body)
    assert.deepEqual([text, subject, other], ['łódź', 'Łódź', '€'])
    await post(gzipSync(multipart([{ name: 'a', value: '2' }])), { ...FORM, 'content-encoding': 'gzip' })
    assert.deepEqual(last().data.body, { a: '2' })
  })

  test('that is broken is refused and says why; nothing of it is kept', async () => {
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
    assert.equal(store.calls, 0)
  })
})

describe('JSON', () => {
  // Amazon SNS, reports of browsers, PHP and Java clients, Cloud Pub/Sub with wrong types.
  const types = [
    'text/plain; charset=UTF-8',
    'text/json',
    'application/csp-report',
    'application/reports+json',
    'application/octet-stream',
    'application/x-json',
    'application/json;charset=ISO-8859-1',
    'application/json; charset="utf-8"',
    'APPLICATION/JSON',
    'application/cloudevents+json; charset=utf-8',
    'application/x-www-form-urlencoded',
    'application/json, application/json',
    'applications/json',
    'application/x-amz-json-1.1',
    'application/vnd.acme',
    'text/html; charset=utf-8',
    'application/javascript',
    'json',
    '*/*',
  ]
  test('is recognised under the types that it comes with', async () => {
    const { post, last } = await startWebhook()
    const body = {
      Type: 'Notification',
      MessageId: '22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324',
      Message: 'Grüße 🌍',
    }
    for (const type of types) {
      assert.equal((await post(JSON.stringify(body, null, 2), { 'content-type': type })).status, 202, type)
      assert.deepEqual([last().data.format, last().data.body], ['json', body], type)
    }
  })

  test('is read in the charset that it says, where it is not UTF-8', async () => {
    const { post, last } = await startWebhook()
    const text = '{"name":"Zoë"}'
    const marked = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')])
    const bodies: [string, Buffer<ArrayBuffer>][] = [
      ['application/json; charset=iso-8859-1', Buffer.from(text, 'latin1')],
      ['application/json; charset=utf-16le', Buffer.from(text, 'utf16le')],
      ['application/json', marked],
      ['application/json', Buffer.from(`\ufeff${text}`)],
      ['text/plain; charset=us-ascii', Buffer.from(text)],
    ]
    for (const [type, body] of bodies) {
      assert.equal((await post(body, { 'content-type': type })).status, 202, type)
      assert.deepEqual(last().data.body, { name: 'Zoë' }, type)
      assert.equal(last().text, text, type)
    }
  })

  test('is not guessed under types of other content', async () => {
    const { post, last } = await startWebhook()
    for (const [type, format] of [
      ['text/csv', 'text'],
      ['application/x-ndjson', 'text'],
      ['text/xml', 'text'],
      ['image/svg', 'file'],
      ['multipart/mixed; boundary=x', 'file'],
    ] as const) {
      await post('{"a":1}', { 'content-type': type })
      assert.equal(last().data.format, format, type)
    }
    await post(Buffer.from('\x7b\xa1a'), { 'content-type': 'application/cbor' })
    assert.equal(last().data.format, 'file')
  })

  test('is not guessed of what only looks like it', async () => {
    const { post, last } = await startWebhook()
    for (const text of ['{hello}', '[x] done', '12', '"quoted"', 'true', ' ', '{"a":1}\n{"a":2}']) {
      assert.equal((await post(text, { 'content-type': 'text/plain' })).status, 202, text)
      assert.deepEqual([last().data.format, last().data.body, last().text], ['text', undefined, text])
    }
    const octets = { 'content-type': 'application/octet-stream' }
    await post('{hello}', octets)
    assert.deepEqual([last().data.format, last().attachments.length], ['file', 1])
  })
})

describe('the option body', () => {
  test('reads a body as it says, whatever type it comes with', async () => {
    const form = 'payload=%7B%22a%22%3A1%7D&b=2'
    const files = multipart([
      { name: 'a', value: '1' },
      { name: 'f', file: 'f.bin', value: JPEG },
    ])
    const cases: [option: string, body: string | Buffer<ArrayBuffer>, type: string, found: unknown[]][] = [
      ['json', '{"a":1}', 'image/png', ['json', { a: 1 }, 0]],
      ['json', '', 'image/png', ['text', undefined, 0]],
      ['json', '12', 'text/html', ['json', 12, 0]],
      ['form', form, 'text/plain', ['form', { a: 1 }, 0]],
      ['form', '{"a":1}', 'application/json', ['form', { '{"a":1}': '' }, 0]],
      ['multipart', files, 'text/plain', ['multipart', { a: '1' }, 1]],
      ['text', '{"a":1}', 'application/json', ['text', undefined, 0]],
      ['binary', '{"a":1}', 'application/json', ['file', undefined, 1]],
      ['auto', '{"a":1}', 'application/json', ['json', { a: 1 }, 0]],
    ]
    for (const [option, body, type, expected] of cases) {
      const { post, last } = await startWebhook({ body: option })
      assert.equal((await post(body, { 'content-type': type })).status, 202, option)
      const { data, attachments } = last()
      assert.deepEqual([data.format, data.body, attachments.length], expected, `${option} of ${body}`)
    }
    const { post } = await startWebhook({ body: 'json' })
    assert.equal((await post('hello', { 'content-type': 'text/plain' })).status, 400)
    assert.equal(webhookOptions.safeParse({ path: '/x', body: 'xml' }).success, false)
  })
})

describe('the option text', () => {
  test('that leads to an empty text or to null gives an empty text; to nothing, the whole body', async () => {
    const { post, last } = await startWebhook({ text: 'data.body.message.text' })
    for (const value of ['""', 'null']) {
      await post(`{"message":{"text":${value}},"secret":"of the whole"}`, json)
      const back = decodeMessage(last(), encodeMessage(last()))
      for (const message of [last(), back]) {
        assert.deepEqual([message.text, Object(message.data.body).secret], ['', 'of the whole'], value)
      }
    }
    await post('{"message":{}}', json)
    assert.equal(last().text, '{"message":{}}')
    const form = await startWebhook({ text: 'data.body.Body' })
    await form.post('Body=&From=%2B1', { 'content-type': 'application/x-www-form-urlencoded' })
    assert.equal(form.last().text, '')
  })
})

describe('a cookie as the conversation', () => {
  const secret = 'c2Vzc2lvbi1vZi1hZGE'

  test('keeps together what one browser sends, and is shown nowhere', async () => {
    const { post, last, store, logs } = await startWebhook({ conversation: 'cookie.sid' })
    const conversations = []
    for (const cookie of [`a=1; sid=${secret}`, `sid="${secret}"; b=2`, `sid=${secret}2`, `xsid=${secret}`]) {
      await post('{"a":1}', { ...json, cookie })
      conversations.push(last().conversation)
    }
    const [one, same, other, none] = conversations
    assert.match(one ?? '', /^test:cookie:[\da-f]{32}$/)
    assert.equal(same, one)
    assert.notEqual(other, one)
    assert.equal(none, last().id)
    assert.doesNotMatch(JSON.stringify([store.messages, logs]), new RegExp(secret))
  })

  test('is for the conversation only', () => {
    for (const key of ['key', 'from', 'text', 'event']) {
      assert.equal(webhookOptions.safeParse({ path: '/x', [key]: 'cookie.sid' }).success, false, key)
    }
  })
})

describe('the names in a form', () => {
  test('are what fetch was given: quotes and line ends, and no other percent', async () => {
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

  test('are not decoded twice where filename* has them', async () => {
    const { post, last } = await startWebhook()
    const head = `Content-Disposition: form-data; name="f"; filename="x"; filename*=UTF-8''a%2522b.txt`
    const body = `--xYz\r\n${head}\r\n\r\nhello\r\n--xYz--\r\n`
    assert.equal((await post(body, { 'content-type': 'multipart/form-data; boundary=xYz' })).status, 202)
    assert.deepEqual(last().data.files, [{ field: 'f', name: 'a%22b.txt' }])
  })
})

describe('a charset', () => {
  test('that is unknown does not cost a delivery', async () => {
    const { post, last } = await startWebhook()
    for (const charset of ['none', 'utf8mb4', 'foo-8']) {
      assert.equal((await post('Zoë', { 'content-type': `text/plain; charset=${charset}` })).status, 202)
      assert.equal(last().text, 'Zoë', charset)
      assert.equal(
        (await post(Buffer.from('Zo\xeb', 'latin1'), { 'content-type': `text/plain; charset=${charset}` }))
          .status,
        202,
      )
      assert.equal(last().text, 'Zoë', charset)
    }
  })

  test('is that of the escaped letters of a form, or its field charset names it', async () => {
    const { post, last } = await startWebhook()
    const form = 'application/x-www-form-urlencoded'
    for (const [type, body, value] of [
      [`${form}; charset=euc-kr`, 'a=%B0%A1+%8Cc', '가 똠'],
      [`${form}; charset=shift_jis`, 'a=%82%B1%82%F1', 'こん'],
      [`${form}; charset=windows-1251`, 'a=%CF%F0%E8', 'При'],
      [form, 'charset=windows-1252&a=Zo%EB', 'Zoë'],
      [form, '_charset_=gbk&a=%C4%E3%26', '你&'],
      [form, 'a=Zo%EB', 'Zoë'],
      [form, 'a=Zo%C3%AB', 'Zoë'],
    ] as const) {
      assert.equal((await post(body, { 'content-type': type })).status, 202)
      assert.equal(Object(last().data.body).a, value, `${type} ${body}`)
    }
    await post(Buffer.from([0x8c, 0x63]), { 'content-type': 'text/plain; charset=EUC-KR' })
    assert.equal(last().text, '똠')
  })
})

describe('a compressed body', () => {
  const text = '{"a":"Grüße"}'
  const methods: [encoding: string, pack: (text: string) => Buffer][] = [
    ['gzip', gzipSync],
    ['GZIP', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
    ['identity', Buffer.from],
    ['', Buffer.from],
    ['utf-8', Buffer.from],
  ]
  test('is read in each way that clients compress', async () => {
    const { post, last } = await startWebhook()
    for (const [encoding, pack] of methods) {
      const headers = { ...json, 'content-encoding': encoding }
      assert.equal((await post(Uint8Array.from(pack(text)), headers)).status, 202, encoding)
      assert.deepEqual(last().data.body, { a: 'Grüße' }, encoding)
    }
  })

  test('is refused if it is too large, broken, or compressed in another way', async () => {
    const { post, store } = await startWebhook({ 'max-body': '10kb' })
    for (const [encoding, pack] of methods.slice(0, 7)) {
      const headers = { ...json, 'content-encoding': encoding }
      assert.equal((await post(Uint8Array.from(pack('x'.repeat(20_000))), headers)).status, 413, encoding)
      assert.equal((await post('x'.repeat(50), headers)).status, 400, encoding)
    }
    assert.equal((await post(text, { ...json, 'content-encoding': 'compress' })).status, 400)
    assert.equal(store.calls, 0)
  })

  test('is signed as it was before where the sender signs first', async () => {
    const sum = (body: string | Buffer) => createHmac('sha256', 'shared').update(body).digest('hex')
    const hmac = { scheme: 'hmac', header: 'X-Signature', secret: 'shared' }
    const unpacked = { ...hmac, 'signed-body': 'unpacked' }
    const packed = Uint8Array.from(gzipSync(text))
    const headers = { ...json, 'content-encoding': 'gzip' }
    const first = await startWebhook({ verify: unpacked, 'max-body': '10kb' })
    assert.equal((await first.post(packed, { ...headers, 'x-signature': sum(text) })).status, 202)
    assert.deepEqual(first.last().data.body, { a: 'Grüße' })
    assert.equal((await first.post(text, { ...json, 'x-signature': sum(text) })).status, 202)
    assert.equal(
      (await first.post(packed, { ...headers, 'x-signature': sum(Buffer.from(packed)) })).status,
      401,
    )
    const bomb = Uint8Array.from(gzipSync('x'.repeat(20_000)))
    assert.equal((await first.post(bomb, { ...headers, 'x-signature': 'none' })).status, 413)
    const usual = await startWebhook({ verify: hmac })
    assert.equal(
      (await usual.post(packed, { ...headers, 'x-signature': sum(Buffer.from(packed)) })).status,
      202,
    )
    assert.equal((await usual.post(packed, { ...headers, 'x-signature': sum(text) })).status, 401)
  })
})
