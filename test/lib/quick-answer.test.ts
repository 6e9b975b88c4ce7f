import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { answerQuickly } from '../../src/lib/quick-answer.ts'
import { sendRaw } from '../chaos/raw-http.ts'

/** The answer of node:http, which `answerQuickly` must equal byte by byte. */
function answerByNode(response: ServerResponse, status: number, type: string, text: string) {
  const length = String(Buffer.byteLength(text))
  response.writeHead(status, [
    'Content-Type',
    type,
    'Content-Length',
    length,
    'X-Content-Type-Options',
    'nosniff',
  ])
  response.end(text)
}

const answers: [status: number, type: string, text: string][] = [
  [202, 'application/json', '{"id":"019a0000-0000-7000-8000-000000000000"}'],
  [200, 'text/plain', ''],
  [200, 'text/plain; charset=utf-8', 'grüße 🎉'],
  [404, 'application/json', 'line\r\nbreak'],
]
const requests: [title: string, bytes: (path: string) => string][] = [
  ['a kept connection', (path) => `GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`],
  ['HEAD', (path) => `HEAD ${path} HTTP/1.1\r\nHost: h\r\n\r\n`],
  ['Connection: close', (path) => `GET ${path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`],
  ['HTTP/1.0', (path) => `GET ${path} HTTP/1.0\r\n\r\n`],
  ['HTTP/1.0 with keep-alive', (path) => `GET ${path} HTTP/1.0\r\nConnection: keep-alive\r\n\r\n`],
  ['a body', (path) => `POST ${path} HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi`],
  [
    '100-continue',
    (path) => `POST ${path} HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi`,
  ],
  ['two pipelined requests', (path) => `GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`.repeat(2)],
]

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://h')
  const answer = answers[Number(searchParams.get('n'))]
  assert.ok(answer)
  if (searchParams.has('extra')) response.setHeader('X-Extra', '1')
  if (pathname === '/quick') answerQuickly(response, ...answer)
  else answerByNode(response, ...answer)
})
let url = ''
before(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${Object(server.address()).port}`
})
after(() => {
  server.closeAllConnections()
  server.close()
})

/** Sends bytes, and returns the answer without its date. */
async function answerTo(bytes: string): Promise<string> {
  const { text } = await sendRaw(url, bytes, { waitForMore: 60 })
  return text.replaceAll(/^Date: .*$/gm, 'Date: then')
}

describe('quick answers', () => {
  for (const [title, bytes] of requests) {
    test(`equal those of node:http: ${title}`, async () => {
      for (const query of answers.flatMap((_, n) => [`n=${n}`, `n=${n}&extra=1`])) {
        const expected = await answerTo(bytes(`/node?${query}`))
        assert.match(expected, /^HTTP\/1\.1 /)
        assert.equal(await answerTo(bytes(`/quick?${query}`)), expected, query)
      }
    })
  }

  test('contain the current time', async () => {
    const request = 'GET /quick?n=0 HTTP/1.1\r\nHost: h\r\n\r\n'
    const { text } = await sendRaw(url, request, { waitForMore: 60 })
    const [, date = ''] = /^Date: (.*)$/m.exec(text) ?? []
    assert.ok(Math.abs(Date.parse(date) - Date.now()) < 5_000, date)
  })
})
