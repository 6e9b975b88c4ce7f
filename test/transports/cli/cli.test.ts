import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { cliOptions } from '../../../transports/cli/config.ts'
import { cli, cliMessage } from '../../../transports/cli/index.ts'
import { transportContract } from '../../contract/transport.contract.ts'
import { startTransportFixture } from '../../fixtures/transport-deps.ts'

let conversations = 0

transportContract({
  kind: cli,
  options: cliOptions.parse({}),
  async converse(fixture) {
    conversations++
    const conversation = `cli-${conversations}`
    return {
      conversation,
      async received() {
        const entries = await fixture.deps.replies.read(conversation, 0, 100)
        return entries.map(({ data }) => String(data.text))
      },
    }
  },
})

describe('messages of the command line', () => {
  test('say who is at the terminal, and can continue a conversation and be repeated', async () => {
    const fixture = await startTransportFixture({ gateway: 'cli' })
    try {
      const input = { text: 'hi', user: 'jo', conversation: 'c', key: 'k' }
      const first = await fixture.deps.accept(cliMessage('cli', input))
      assert.deepEqual(await fixture.deps.accept(cliMessage('cli', input)), { id: first.id, duplicate: true })
      const [message] = fixture.store.messages
      assert.ok(message)
      assert.equal(message.conversation, 'c')
      assert.deepEqual(cli.eventData(message), { from: 'jo', body: 'hi' })
    } finally {
      await fixture.close()
    }
  })

  test('without more than a text are from cli, and a conversation of their own', async () => {
    const fixture = await startTransportFixture({ gateway: 'cli' })
    try {
      const { id } = await fixture.deps.accept(cliMessage('cli', { text: 'hi' }))
      const [message] = fixture.store.messages
      assert.deepEqual([message?.conversation, message?.from.id], [id, 'cli'])
    } finally {
      await fixture.close()
    }
  })

  test('have no target but their conversation', async () => {
    const fixture = await startTransportFixture({ gateway: 'cli' })
    try {
      const transport = cli.create({}, fixture.deps)
      const reply = { key: 'k', gateway: 'cli', conversation: 'c', text: 'x', to: 'somewhere' }
      await assert.rejects(transport.send(reply), { code: 'send_rejected' })
    } finally {
      await fixture.close()
    }
  })
})
