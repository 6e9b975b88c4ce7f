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
/** A JSON list of about this size that repeats a piece. */
const listOf = (piece: string, bytes: number) =>
  `[${Array(Math.floor(bytes / (piece.length + 1)))
    .fill(piece)
    .join(',')}]`

describe('JSON with millions of values, which would block the daemon while it is parsed,', {
  timeout: 300_000,
}, async () => {
  const site = openSite({ routes: ROUTES })
  const daemon = await site.start()

  for (const piece of ['[]', '{}', '0', '""'])
    test(`is refused with advice as a body of ${piece}`, async () => {
      const { status, body } = await daemon.post('/large', listOf(piece, 15 * MB))
      assert.equal(status, 400)
      assert.match(JSON.stringify(body), /bad_request.* values; send them in several requests, or as a file/)
    })

  test('is refused in a form', async () => {
    for (const name of ['payload', 'list']) {
      const head = `--end\r\nContent-Disposition: form-data; name="${name}"\r\nContent-Type: application/json\r\n\r\n`
      const form = `${head}${listOf('[]', 15 * MB)}\r\n--end--\r\n`
      const { status } = await daemon.post('/large', form, {
        'content-type': 'multipart/form-data; boundary=end',
      })
      assert.equal(status, 400, name)
    }
  })

  test('is refused in a frame, and the connection stays open', async () => {
    const chat = await daemon.chat('/chat')
    chat.send({ text: 'hello', list: JSON.parse(listOf('[]', 15 * MB)) })
    assert.equal((await chat.next('error')).code, 'bad_request')
    await chat.ask('still there')
    chat.close()
  })

  test('is refused in a call of the control API', async () => {
    await assert.rejects(
      daemon.invoke('echo', { text: 'hello', list: JSON.parse(listOf('[]', 3.5 * MB)) }),
      /bad_request: .* values/,
    )
  })

  test('is not confused with a long text of brackets and commas, or a list within the default size', async () => {
    const text = '[],{"\\"},'.repeat(MB)
    assert.equal((await daemon.post('/large', JSON.stringify({ text }))).status, 202)
    assert.equal((await daemon.post('/large', listOf('[]', MB - 10))).status, 202)
  })
})
