import { WebSocket } from 'ws'
import { websocketOptions } from '../../../transports/websocket/config.ts'
import { websocket } from '../../../transports/websocket/index.ts'
import { type Delivery, transportContract } from '../../contract/transport.contract.ts'
import { connect, readFrame } from './harness.ts'

transportContract({
  kind: websocket,
  options: websocketOptions.parse({ path: '/ws', tokens: { tester: 't' } }),
  // Ids are unique within a conversation, so that all deliveries use the same one, each on its own
  // connection.
  deliver: ({ wsUrl }, text, key) =>
    new Promise<Delivery>((resolve) => {
      const socket = new WebSocket(`${wsUrl}/ws?token=t&conversation=main`)
      const end = (delivery: Delivery) => {
        resolve(delivery)
        socket.close()
      }
      socket.on('error', () => resolve({ outcome: 'refused' }))
      socket.on('open', () => socket.send(JSON.stringify({ type: 'message', id: key, text })))
      socket.on('message', (raw) => {
        const { type, messageId, duplicate } = readFrame(raw)
        if (type === 'error') end({ outcome: 'refused' })
        if (type === 'ack')
          end({ outcome: 'acknowledged', id: messageId ?? '', duplicate: duplicate ?? false })
      })
    }),
  async converse({ wsUrl }) {
    const client = await connect(`${wsUrl}/ws?token=t`)
    return {
      conversation: client.conversation,
      received: () => client.frames.map((frame) => frame.text ?? ''),
    }
  },
})
