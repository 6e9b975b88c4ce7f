import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cli } from '../../../transports/cli/index.ts'
import { transportContract } from '../../contract/transport.contract.ts'
import { startTransportFixture } from '../../fixtures/transport-deps.ts'

let conversations = 0

transportContract({
  kind: cli,
  options: {},
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

test('a reply of the command line cannot have another target than its conversation', async () => {
  const fixture = await startTransportFixture({ gateway: 'cli' })
  try {
    const transport = await cli.create({}, fixture.deps)
    const reply = { key: 'k', gateway: 'cli', conversation: 'c', text: 'x', to: 'somewhere' }
    await assert.rejects(transport.send(reply), { code: 'send_rejected' })
  } finally {
    await fixture.close()
  }
})
