import { LogLevel, SocketModeClient } from '@slack/socket-mode'
import { z } from 'zod'
import { servePeer } from '../lib/serve-peer.ts'

// The yardstick of Socket Mode: Slack's own client, which acknowledges every event and drops it.
servePeer({
  async connect(params) {
    const { port } = z.object({ port: z.number() }).parse(params)
    const client = new SocketModeClient({
      appToken: 'xapp-bench',
      logLevel: LogLevel.ERROR,
      clientOptions: { slackApiUrl: `http://127.0.0.1:${port}/api/` },
    })
    client.on('slack_event', ({ ack }) => ack())
    await client.start()
    return {}
  },
})
