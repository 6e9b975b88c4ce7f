// The sample client of docs/websocket.md, against a real gateway.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { blocksOf } from '../../docs/blocks.ts'
import { until } from '../../fixtures/until.ts'
import { startWebsocket } from './harness.ts'

/** Loads the client with the part of the browser that Node lacks. */
async function loadClient() {
  const code = blocksOf('docs/websocket.md').find(({ language }) => language === 'js')?.code ?? assert.fail()
  const storage = `const localStorage = { getItem: () => null, setItem() {} }`
  const module: { connect: Connect } = await import(
    `data:text/javascript,${encodeURIComponent(`${storage}\n${code}`)}`
  )
  return module.connect
}

type Connect = (
  url: string,
  getToken: () => Promise<string>,
  onReply: (text: string) => void,
  onPart?: (text: string) => void,
) => (text: string) => void

test('sends a message again that was refused because of the rate limit', async () => {
  const { address, refused, store } = await startWebsocket({
    tokens: { alice: 'alice-0123456789' },
    'rate-limit': '2/1s',
  })
  const connect = await loadClient()
  const send = connect(
    address,
    async () => 'alice-0123456789',
    () => undefined,
  )
  const texts = ['1', '2', '3', '4']
  for (const text of texts) send(text)
  const received = () => store.messages.map(({ text }) => text).sort()
  await until(() => store.messages.length === texts.length, 'all messages')
  assert.deepEqual(received(), texts)
  assert.ok(refused.includes('rate_limited'))
})
