// The sample client of docs/websocket.md, against a real gateway.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { blocksOf } from '../../docs/blocks.ts'
import { until } from '../../fixtures/until.ts'
import { startWebsocket } from './harness.ts'

/** Loads the client, with a `localStorage`, which Node lacks. */
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

test('the sample client repeats a message that was refused because of the rate limit', async () => {
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

test('the sample client passes on the parts of a streamed reply, and then the reply', async () => {
  const { address, store, transport, reply } = await startWebsocket({ tokens: { alice: 'alice-0123456789' } })
  const connect = await loadClient()
  const parts: string[] = []
  const replies: string[] = []
  const send = connect(
    address,
    async () => 'alice-0123456789',
    (text) => replies.push(text),
    (text) => parts.push(text),
  )
  send('hello')
  const { conversation = '', id: inReplyTo = '' } = await until(() => store.messages[0], 'the message')
  transport.stream?.({ conversation, inReplyTo, delta: 'It is ', text: 'It is ' })
  transport.stream?.({ conversation, inReplyTo, delta: 'four.', text: 'It is four.' })
  await reply(conversation, 'It is four.', { inReplyTo })
  await until(() => replies.length > 0, 'the reply')
  assert.deepEqual({ parts, replies }, { parts: ['It is ', 'four.'], replies: ['It is four.'] })
})
