import { randomBytes } from 'node:crypto'

const TEAM = 'T0TEAM'
const CHANNELS = 10
const PEOPLE = 50

/**
 * Makes envelopes of Socket Mode with a message of a person, as Slack sends it: 1.4 KB of which 200 bytes are what was
 * said. Each starts a thread of its own, in one of ten channels, by one of fifty people.
 */
export function createEnvelopes(): () => { id: string; frame: string } {
  const run = randomBytes(6).toString('hex')
  const [before = '', ...parts] = JSON.stringify(envelope()).split(/@(ID|EVENT|CLIENT|USER|CHANNEL|TS)@/)
  let serial = 0
  return () => {
    serial++
    const number = String(serial).padStart(10, '0')
    const id = `${run.slice(0, 8)}-${run.slice(8)}-4000-8000-00${number}`
    const values: Record<string, string> = {
      ID: id,
      EVENT: `Ev${run.slice(0, 4).toUpperCase()}${number}`,
      CLIENT: id,
      USER: `U0PERSON${String(serial % PEOPLE).padStart(2, '0')}`,
      CHANNEL: `C0ROOM${String(serial % CHANNELS).padStart(2, '0')}`,
      // Seconds that differ from run to run: a message's own time is its key.
      TS: `${17 * 10 ** 8 + (Number.parseInt(run.slice(0, 6), 16) % 10 ** 7)}.${number.slice(-6)}`,
    }
    let frame = before
    for (let at = 0; at < parts.length; at += 2)
      frame += (values[parts[at] ?? ''] ?? '') + (parts[at + 1] ?? '')
    return { id, frame }
  }
}

/** https://docs.slack.dev/apis/events-api/using-socket-mode, https://docs.slack.dev/reference/events/message. */
function envelope() {
  const text = 'Could somebody look at the deployment of this morning? '.repeat(4).slice(0, 200)
  const section = { type: 'rich_text_section', elements: [{ type: 'text', text }] }
  return {
    envelope_id: '@ID@',
    payload: {
      token: 'Z9jHqVbLmPoXcRtYuIwEaSdF',
      team_id: TEAM,
      context_team_id: TEAM,
      context_enterprise_id: null,
      api_app_id: 'A0APP',
      event: {
        user: '@USER@',
        type: 'message',
        ts: '@TS@',
        client_msg_id: '@CLIENT@',
        text,
        team: TEAM,
        blocks: [{ type: 'rich_text', block_id: 'oKzH4', elements: [section] }],
        channel: '@CHANNEL@',
        event_ts: '@TS@',
        channel_type: 'channel',
      },
      type: 'event_callback',
      event_id: '@EVENT@',
      event_time: 1_763_700_000,
      authorizations: [
        { enterprise_id: null, team_id: TEAM, user_id: 'U0BOT', is_bot: true, is_enterprise_install: false },
      ],
      is_ext_shared_channel: false,
      event_context: '4-eyJldCI6Im1lc3NhZ2UiLCJ0aWQiOiJUMFRFQU0iLCJhaWQiOiJBMEFQUCIsImNpZCI6IkMwUk9PTTAxIn0',
    },
    type: 'events_api',
    accepts_response_payload: false,
    retry_attempt: 0,
    retry_reason: '',
  }
}
