import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { NewMessage } from '../../../src/core/message.ts'
import { cliOptions } from '../../../transports/cli/config.ts'
import { cli } from '../../../transports/cli/index.ts'
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
  test('show who wrote and what, as an event', async () => {
    const fixture = await startTransportFixture({ gateway: 'cli' })
    try {
      const message: NewMessage = {
        gateway: 'cli',
        transport: 'cli',
        from: { id: 'jo' },
        text: 'hi',
        data: {},
      }
      await fixture.deps.accept(message)
      const [accepted] = fixture.store.messages
      assert.ok(accepted)
      assert.deepEqual(cli.eventData(accepted), { from: 'jo', body: 'hi' })
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
