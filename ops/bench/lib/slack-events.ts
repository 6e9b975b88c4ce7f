import { createHmac, randomUUID } from 'node:crypto'

export const SLACK = { signingSecret: 'secret-of-the-benchmark', token: 'xoxb-test', appToken: 'xapp-test' }

let serial = 0

/** A message in a channel as Slack's Events API sends it; each call returns a different one. */
export function slackEvent() {
  const ts = `1700000000.${String(++serial).padStart(6, '0')}`
  const text = 'Could somebody look at the build? '.repeat(10)
  const event = { type: 'message', channel: 'C0GEN', channel_type: 'channel', user: 'U1ANN', text, ts }
  const ids = {
    team_id: 'T0TEAM',
    api_app_id: 'A0APP',
    event_id: `Ev${randomUUID()}`,
    event_time: 1_700_000_000,
  }
  return { type: 'event_callback', ...ids, event }
}

/** The headers of a delivery, with the signature that Slack would make now. */
export function signedHeaders(body: string): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1000))
  const mac = createHmac('sha256', SLACK.signingSecret).update(`v0:${timestamp}:${body}`).digest('hex')
  return {
    'content-type': 'application/json',
    'x-slack-request-timestamp': timestamp,
    'x-slack-signature': `v0=${mac}`,
  }
}
