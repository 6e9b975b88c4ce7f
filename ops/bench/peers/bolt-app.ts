import { App, HTTPReceiver, LogLevel } from '@slack/bolt'
import { z } from 'zod'
import { servePeer } from '../lib/serve-peer.ts'
import { SLACK } from '../lib/slack-events.ts'

// Plain Bolt with a listener that does nothing. Bolt acknowledges an event and forgets it, even if
// a listener fails.
const schema = z.object({ apiUrl: z.string(), mode: z.enum(['http', 'socket']) })

servePeer({
  async listen(params) {
    const { apiUrl, mode } = schema.parse(params)
    const { token, appToken, signingSecret } = SLACK
    const receiver = new HTTPReceiver({ signingSecret, logLevel: LogLevel.ERROR })
    const connection = mode === 'http' ? { receiver } : { socketMode: true, appToken }
    const app = new App({
      ...connection,
      token,
      logLevel: LogLevel.ERROR,
      clientOptions: { slackApiUrl: apiUrl },
    })
    app.message(async () => {})
    const server = await app.start(0)
    const { port = 0 } = mode === 'http' ? Object(server.address()) : {}
    return { port }
  },
})
