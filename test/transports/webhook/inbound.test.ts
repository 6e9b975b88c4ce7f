import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { request } from 'node:http'
import { describe, test } from 'node:test'
import { deflateSync, gzipSync } from 'node:zlib'
import { type Body, json, startWebhook } from './harness.ts'
import { FORM, multipart } from './multipart.ts'

describe('a webhook gateway answers', () => {
  test('401 to a forged delivery, with `WWW-Authenticate` if the scheme has one', async () => {
    const github = await startWebhook({ verify: { scheme: 'github', secret: 's' } })
    const forged = await github.post('{}', { ...json, 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` })
    assert.equal(forged.status, 401)
    assert.equal(forged.body.error?.code, 'signature_invalid')
    assert.equal(github.store.acceptCalls, 0)
    assert.deepEqual(github.refused, ['signature_invalid'])
    const bearer = await startWebhook({ verify: { scheme: 'bearer', secret: 's' } })
    assert.equal((await bearer.post('{}')).headers.get('www-authenticate'), 'Bearer')
  })

  test('503 with the code `stopping` once it no longer accepts deliveries', async () => {
    const { post, transport, store } = await startWebhook()
    await transport.stop()
    const { status, headers, body } = await post('{}', json)
    assert.deepEqual([status, headers.get('retry-after')], [503, '5'])
    assert.equal(body.error?.code, 'stopping')
    assert.match(body.error?.message ?? '', /daemon is stopping\. Nothing was accepted\./)
    assert.equal(store.acceptCalls, 0)
  })

  test('405 with `Allow` and advice to methods other than POST', async () => {
    const { hook } = await startWebhook()
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const response = await fetch(hook, { method })
      assert.equal(response.status, 405)
      assert.equal(response.headers.get('allow'), 'POST, HEAD, OPTIONS')
      assert.match(await response.text(), /method_not_allowed.*curl -d/)
    }
  })

  test('200 to HEAD and 204 to OPTIONS, without a signature, and accepts no message', async () => {
    for (const options of [{}, { verify: { scheme: 'github', secret: 's' } }]) {
      const { hook, store, refused } = await startWebhook(options)
      // Trello sends it before it creates a webhook.
      const head = await fetch(hook, { method: 'HEAD' })
      assert.deepEqual([head.status, await head.text()], [200, ''])
      const asked = await fetch(hook, { method: 'OPTIONS' })
      assert.deepEqual([asked.status, asked.headers.get('allow')], [204, 'POST, HEAD, OPTIONS'])
      assert.equal(asked.headers.get('access-control-allow-origin'), null)
      // Azure Event Grid, with the schema of CloudEvents.
      const origin = 'eventgrid.azure.net'
      const cloud = await fetch(hook, { method: 'OPTIONS', headers: { 'webhook-request-origin': origin } })
      assert.equal(cloud.headers.get('webhook-allowed-origin'), origin)
      assert.equal(cloud.headers.get('webhook-allowed-rate'), '*')
      assert.deepEqual([store.acceptCalls, refused], [0, []])
    }
  })

  test('202 to an empty body of any type, which is an empty message', async () => {
    const { hook, last } = await startWebhook()
    const types = ['', 'application/json', 'text/json', 'application/vnd.api+json', 'text/plain']
    const others = ['application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'image/png']
    for (const type of [...types, ...others]) {
      const response = await fetch(hook, { method: 'POST', headers: type ? { 'content-type': type } : {} })
      assert.equal(response.status, 202, String(type))
      const { text, data, attachments } = last()
      assert.deepEqual([text, data.format, data.body, attachments], ['', 'text', undefined, []], type)
    }
  })

  test('413 to a body over `max-body`, with and without a declared length', async () => {
    const { post, hook, store } = await startWebhook({ 'max-body': '1kb' })
    assert.equal((await post('x'.repeat(1_025))).status, 413)
    const chunked = request(hook, { method: 'POST' })
    chunked.write('x'.repeat(1_000))
    chunked.end('x'.repeat(25))
    const [response] = await once(chunked, 'response')
    assert.equal(response.statusCode, 413)
    response.resume()
    assert.equal(store.acceptCalls, 0)
    assert.equal((await post('x'.repeat(1_024))).status, 202)
  })

  test('429 with `Retry-After` over the rate limit, which counts authentic deliveries only', async () => {
    let time = 1_000_000
    const { post, store } = await startWebhook(
      { 'rate-limit': '2/10s', verify: { scheme: 'bearer', secret: 's' } },
      { now: () => time },
    )
    const good = { authorization: 'Bearer s' }
    for (let index = 0; index < 5; index++) await post('x', { authorization: 'Bearer no' })
    assert.equal((await post('x', good)).status, 202)
    assert.equal((await post('x', good)).status, 202)
    const over = await post('x', good)
    assert.equal(over.status, 429)
    assert.equal(over.headers.get('retry-after'), '5')
    time += 5_000
    assert.equal((await post('x', good)).status, 202)
    assert.equal(store.messages.length, 3)
  })

  test('400 to invalid JSON, invalid UTF-8, JSON that is too deep, and broken or unknown compression', async () => {
    const { post, store } = await startWebhook()
    const bad: [body: Body, headers: Record<string, string>][] = [
      ['{"a":', json],
      ['{"a":1}x', { 'content-type': 'application/vnd.api+json; charset=utf-8' }],
      [Buffer.from([0x22, 0xff, 0x22]), json],
      [Buffer.from([0xc3, 0x28]), { 'content-type': 'text/plain' }],
      ['['.repeat(5_000) + ']'.repeat(5_000), json],
      [`${'{"a":'.repeat(1_001)}1${'}'.repeat(1_001)}`, json],
      [
        multipart([{ name: 'a', value: '['.repeat(1_002) + ']'.repeat(1_002), type: 'application/json' }]),
        FORM,
      ],
      ['x', { 'content-encoding': 'gzip' }],
      ['x', { 'content-encoding': 'br' }],
      ['x', { 'content-encoding': 'toString' }],
      ['x', { 'content-encoding': 'constructor' }],
    ]
    for (const [body, headers] of bad) {
      const answer = await post(body, headers)
      assert.equal(answer.status, 400, `${JSON.stringify(headers)} ${body.toString().slice(0, 20)}`)
      assert.equal(answer.body.error?.code, 'bad_request')
    }
    assert.equal(store.acceptCalls, 0)
  })

  test('202 to a compressed body, and 413 to one that would decompress to too much', async () => {
    const { post, last } = await startWebhook({ 'max-body': '1kb' })
    for (const [encoding, pack] of Object.entries({ gzip: gzipSync, deflate: deflateSync })) {
      const packed = (text: string) =>
        post(new Uint8Array(pack(text)), { ...json, 'content-encoding': encoding })
      assert.equal((await packed('{"a":1}')).status, 202)
      assert.deepEqual([last().text, last().data.body], ['{"a":1}', { a: 1 }])
      assert.equal((await packed('"x"'.padEnd(100_000))).status, 413)
    }
  })

  test('403 to web pages of other sites on a loopback listener without signatures', async () => {
    const { hook, store } = await startWebhook()
    const statusWith = async (headers: Record<string, string>) => {
      const sent = request(hook, { method: 'POST', headers: { 'content-type': 'text/plain', ...headers } })
      sent.end('x')
      const [response] = await once(sent, 'response')
      response.resume()
      return response.statusCode
    }
    const foreign = ['https://evil.example', 'null', 'http://6.6.6.6'].map((origin) => ({ origin }))
    const rebound = { host: 'evil.example:8080', origin: 'http://evil.example:8080' }
    for (const headers of [...foreign, { host: 'evil.example' }, rebound]) {
      assert.equal(await statusWith(headers), 403, JSON.stringify(headers))
    }
    assert.equal(store.acceptCalls, 0)
    const own = [new URL(hook).origin, 'http://localhost:3000', 'http://[::1]:3000'].map((origin) => ({
      origin,
    }))
    for (const headers of [...own, { host: 'localhost' }, { host: '[::1]:8080' }]) {
      assert.equal(await statusWith(headers), 202, JSON.stringify(headers))
    }
    const signed = await startWebhook({ verify: { scheme: 'bearer', secret: 's' } })
    const proxied = { host: 'hooks.example.com', authorization: 'Bearer s' }
    const sent = request(signed.hook, { method: 'POST', headers: proxied }).end('x')
    assert.equal((await once(sent, 'response'))[0].statusCode, 202)
  })
})

describe('a webhook gateway without signatures', () => {
  test('warns in doctor, and also at the start if other machines can reach it', async () => {
    const warnings = async (host: string, options: object) => {
      const { logs, transport } = await startWebhook(options, { http: { host } })
      const [check] = await transport.check()
      assert.equal(check?.ok, true)
      return [logs.filter(({ level }) => level === 'warn').length, check?.warning ?? false]
    }
    assert.deepEqual(await warnings('0.0.0.0', {}), [1, true])
    assert.deepEqual(await warnings('127.0.0.1', {}), [0, true])
    assert.deepEqual(await warnings('127.0.0.1', { verify: { scheme: 'none' } }), [0, true])
    assert.deepEqual(await warnings('0.0.0.0', { verify: { scheme: 'bearer', secret: 's' } }), [0, false])
  })

  test('is not published by ops/: compose listens on this machine only, and the image has no routes.yaml', async () => {
    const read = (name: string) => readFile(new URL(`../../../ops/${name}`, import.meta.url), 'utf8')
    const ports = (await read('compose.yaml')).match(/".*:\d+:\d+"|"\d+:\d+"/g) ?? []
    assert.ok(ports.length > 0 && ports.every((port) => port.startsWith('"127.0.0.1:')), String(ports))
    assert.doesNotMatch(await read('Dockerfile'), /trivium init|COPY.*routes\.yaml/)
  })
})
