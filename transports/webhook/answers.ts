import { escapeUTF8 } from 'entities/escape'
import { type Json, pathGet } from '../../src/core/json.ts'

/** What is said of a delivery that was taken; `reply` is that of the skill, with `respond: result`. */
export type Taken = { id: string; duplicate?: boolean; reply?: string }

/** An answer in the words of a provider. */
export type Answer = { status: number; type?: string; text?: string }

/** 200 and JSON, where a provider takes no other status for success. */
export function json(value: object): Answer {
  return { status: 200, type: 'application/json', text: JSON.stringify(value) }
}

export function plain(text: string): Answer {
  return { status: 200, type: 'text/plain', text }
}

/**
 * https://docs.discord.com/developers/interactions/receiving-and-responding: without a reply the user sees that something is
 * being done, until somebody says what by the `token` of the interaction.
 */
export function answerDiscord({ reply }: Taken, body: Json | undefined): Answer {
  if (pathGet(body, 'event') !== undefined) return { status: 204 }
  const type = pathGet(body, 'type')
  if (type === 4) return json({ type: 8, data: { choices: [] } })
  if (reply !== undefined) return json({ type: 4, data: { content: reply.slice(0, 2_000) } })
  return json({ type: type === 3 ? 6 : 5 })
}

/** TwiML: Twilio takes no answer in another form. https://www.twilio.com/docs/messaging/twiml */
export function answerTwilio({ reply }: Taken, body: Json | undefined): Answer {
  const verb = pathGet(body, 'CallSid') === undefined ? 'Message' : 'Say'
  const said = reply === undefined ? '' : `<${verb}>${escapeUTF8(reply)}</${verb}>`
  const text = `<?xml version="1.0" encoding="UTF-8"?><Response>${said}</Response>`
  return { status: 200, type: 'text/xml', text }
}
