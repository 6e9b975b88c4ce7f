import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'

const ROUTES = `
gateways:
  large: { transport: webhook, path: /large, max-body: 20mb, verify: { scheme: none } }
  chat: { transport: websocket, path: /chat, max-frame: 20mb }
routes:
  - { name: rest, skill: echo }
`
const MB = 2 ** 20
/** JSON text of about so many bytes, of a piece that is repeated. */
const listOf = (piece: string, bytes: number) =>
  `[${Array(Math.floor(bytes / (piece.length + 1)))
    .fill(piece)
    .join(',')}]`

describe('JSON of millions of values, which would hold up everybody while it is read', {
  timeout: 120_000,
}, async () => {
  const site = openSite({ routes: ROUTES })
  const daemon = await site.start()

  for (const piece of ['[]', '{}', '0', '""'])
    test(`a body of ${piece} is refused, with what to do`, async () => {
      const { status, body } = await daemon.post('/large', listOf(piece, 15 * MB))
      assert.equal(status, 400)
      assert.match(JSON.stringify(body), /bad_request.* values; send them in several requests, or as a file/)
    })

  test('in a form as well', async () => {
    for (const name of ['payload', 'list']) {
      const head = `--end\r\nContent-Disposition: form-data; name="${name}"\r\nContent-Type: application/json\r\n\r\n`
      const form = `${head}${listOf('[]', 15 * MB)}\r\n--end--\r\n`
      const { status } = await daemon.post('/large', form, {
        'content-type': 'multipart/form-data; boundary=end',
      })
      assert.equal(status, 400, name)
    }
  })

  test('a frame is refused, and the connection goes on', async () => {
    const chat = await daemon.chat('/chat')
    chat.send({ text: 'hello', list: JSON.parse(listOf('[]', 15 * MB)) })
    assert.equal((await chat.next('error')).code, 'bad_request')
    await chat.ask('still there')
    chat.close()
  })

  test('a call of a program is refused', async () => {
    await assert.rejects(
      daemon.invoke('echo', { text: 'hello', list: JSON.parse(listOf('[]', 3.5 * MB)) }),
      /bad_request: .* values/,
    )
  })

  test('a long text with brackets and commas is one value, and so is the default size', async () => {
    const text = '[],{"\\"},'.repeat(MB)
    assert.equal((await daemon.post('/large', JSON.stringify({ text }))).status, 202)
    assert.equal((await daemon.post('/large', listOf('[]', MB - 10))).status, 202)
  })
})
