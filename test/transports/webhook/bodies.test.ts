import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, test } from 'node:test'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { decodeMessage, encodeMessage } from '../../../src/core/message.ts'
import { webhookOptions } from '../../../transports/webhook/config.ts'
import { json, startWebhook } from './harness.ts'
import { JPEG, multipart } from './multipart.ts'

describe('JSON', () => {
  // As sent by Amazon SNS, browsers (reports), PHP and Java clients, and Cloud Pub/Sub.
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
  test('is recognised under all content types that senders use for it', async () => {
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

  test('is read in its declared charset, or the one of its byte order mark', async () => {
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

  test('is not recognised under content types of other formats', async () => {
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

  test('is not recognised in text that only resembles it', async () => {
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
  test('reads JSON lines as a list, and takes them apart', async () => {
    const drain = { body: 'ndjson', split: 'data.body', key: 'id' }
    const { post, store } = await startWebhook(drain)
    // As Vercel and Cloudflare send logs, with and without a newline at the end.
    const lines = '\ufeff{"id":"a","n":7615917337495251231}\r\n{"id":"b","message":"a\\nb"}\n\n'
    for (const type of ['application/x-ndjson', 'text/plain', 'application/json'])
      assert.ok((await post(lines, { 'content-type': type })).status < 300, type)
    assert.deepEqual(
      store.messages.map(({ key, data }) => [key, data.body]),
      [
        ['a', { id: 'a', n: '7615917337495251231' }],
        ['b', { id: 'b', message: 'a\nb' }],
      ],
    )
    const whole = await startWebhook({ body: 'ndjson' })
    await whole.post('{"a":1}\n2', json)
    const { data, text } = decodeMessage(whole.last(), encodeMessage(whole.last()))
    assert.deepEqual([data.format, data.body, text], ['json', [{ a: 1 }, 2], '[{"a":1},2]'])
    for (const [body, type] of [
      ['{"a":1}\n{"a"', 'application/x-ndjson'],
      ['1],[2', 'text/plain'],
    ] as const) {
      const { status, body: answer } = await whole.post(body, { 'content-type': type })
      assert.deepEqual([status, /one of the lines/.test(answer.error?.message ?? '')], [400, true], body)
    }
  })

  test('is not needed for a file that curl sends as a form', async () => {
    const { post, last } = await startWebhook()
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13])
    assert.equal((await post(png, form)).status, 202)
    assert.deepEqual([last().data.format, last().attachments.length], ['file', 1])
    assert.equal((await post(Buffer.from('a=Zo\xeb', 'latin1'), form)).status, 400)
  })

  test('is suggested by the error about JSON lines that are sent as JSON', async () => {
    const { post } = await startWebhook()
    const hint = async (body: string) => (await post(body, json)).body.error?.message ?? ''
    assert.match(await hint('{"a":1}\n{"a":2}\n'), /set `body: ndjson`/)
    assert.doesNotMatch(await hint('{"a":1}\n{"a"'), /ndjson/)
  })

  test('overrides the content type', async () => {
    const form = 'payload=%7B%22a%22%3A1%7D&b=2'
    const files = multipart([
      { name: 'a', value: '1' },
      { name: 'f', file: 'f.bin', value: JPEG },
    ])
    type Expected = [format: string, body: unknown, attachments: number]
    const cases: [option: string, body: string | Buffer<ArrayBuffer>, type: string, Expected][] = [
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
  test('gives an empty text for an empty string or null, and the whole body if its pointer finds nothing', async () => {
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

  test('groups the messages of one browser, and is not stored or logged', async () => {
    const { post, last, store, logs } = await startWebhook({ conversation: 'cookie.sid' })
    const conversations = []
    for (const cookie of [`a=1; sid=${secret}`, `sid="${secret}"; b=2`, `sid=${secret}2`, `xsid=${secret}`]) {
      await post('{"a":1}', { ...json, cookie })
      conversations.push(last().conversation)
    }
    const [first, quoted, otherValue, otherName] = conversations
    assert.match(first ?? '', /^test:cookie:[\da-f]{32}$/)
    assert.equal(quoted, first)
    assert.notEqual(otherValue, first)
    assert.equal(otherName, last().id)
    assert.doesNotMatch(JSON.stringify([store.messages, logs]), new RegExp(secret))
  })

  test('is refused for options other than `conversation`', () => {
    for (const key of ['key', 'from', 'text', 'event']) {
      assert.equal(webhookOptions.safeParse({ path: '/x', [key]: 'cookie.sid' }).success, false, key)
    }
  })
})

describe('a charset', () => {
  test('that is unknown is ignored: the text is UTF-8, or else Latin-1', async () => {
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

  test('applies to the percent-encoded letters of a form; a field of the form may name it', async () => {
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
  test('is read in each encoding that clients use', async () => {
    const { post, last } = await startWebhook()
    for (const [encoding, pack] of methods) {
      const headers = { ...json, 'content-encoding': encoding }
      assert.equal((await post(Uint8Array.from(pack(text)), headers)).status, 202, encoding)
      assert.deepEqual(last().data.body, { a: 'Grüße' }, encoding)
    }
  })

  test('is refused if it is too large, broken, or in an unknown encoding', async () => {
    const { post, store } = await startWebhook({ 'max-body': '10kb' })
    for (const [encoding, pack] of methods.filter(([, pack]) => pack !== Buffer.from)) {
      const headers = { ...json, 'content-encoding': encoding }
      assert.equal((await post(Uint8Array.from(pack('x'.repeat(20_000))), headers)).status, 413, encoding)
      assert.equal((await post('x'.repeat(50), headers)).status, 400, encoding)
    }
    assert.equal((await post(text, { ...json, 'content-encoding': 'compress' })).status, 400)
    assert.equal(store.acceptCalls, 0)
  })

  test('is verified after decompression with `signed-body: unpacked`, else before it', async () => {
    const sum = (body: string | Buffer) => createHmac('sha256', 'shared').update(body).digest('hex')
    const hmac = { scheme: 'hmac', header: 'X-Signature', secret: 'shared' }
    const unpacked = { ...hmac, 'signed-body': 'unpacked' }
    const packed = Uint8Array.from(gzipSync(text))
    const headers = { ...json, 'content-encoding': 'gzip' }
    const signedFirst = await startWebhook({ verify: unpacked, 'max-body': '10kb' })
    assert.equal((await signedFirst.post(packed, { ...headers, 'x-signature': sum(text) })).status, 202)
    assert.deepEqual(signedFirst.last().data.body, { a: 'Grüße' })
    assert.equal((await signedFirst.post(text, { ...json, 'x-signature': sum(text) })).status, 202)
    assert.equal(
      (await signedFirst.post(packed, { ...headers, 'x-signature': sum(Buffer.from(packed)) })).status,
      401,
    )
    const bomb = Uint8Array.from(gzipSync('x'.repeat(20_000)))
    assert.equal((await signedFirst.post(bomb, { ...headers, 'x-signature': 'none' })).status, 413)
    const packedFirst = await startWebhook({ verify: hmac })
    assert.equal(
      (await packedFirst.post(packed, { ...headers, 'x-signature': sum(Buffer.from(packed)) })).status,
      202,
    )
    assert.equal((await packedFirst.post(packed, { ...headers, 'x-signature': sum(text) })).status, 401)
  })
})
