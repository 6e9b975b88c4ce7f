import assert from 'node:assert/strict'
import { createCipheriv, hash } from 'node:crypto'
import { type Sample, SECRET, seconds } from './sample.ts'

/** The body of an event that Lark encrypts with an Encrypt Key. */
export function encrypted(event: object, key = SECRET): string {
  const iv = Buffer.from('0123456789abcdef')
  const cipher = createCipheriv('aes-256-cbc', hash('sha256', key, 'buffer'), iv)
  const sealed = Buffer.concat([iv, cipher.update(JSON.stringify(event)), cipher.final()])
  return JSON.stringify({ encrypt: sealed.toString('base64') })
}

export function signedByLark(body: string, at: number, key = SECRET): Record<string, string> {
  const [time, nonce] = [seconds(at), '1628736262']
  return {
    'x-lark-request-timestamp': time,
    'x-lark-request-nonce': nonce,
    'x-lark-signature': hash('sha256', time + nonce + key + body),
  }
}

export const LARK_EVENT = {
  schema: '2.0',
  header: {
    event_id: 'ev-lark-1',
    event_type: 'im.message.receive_v1',
    token: 'verification',
    app_id: 'cli_1',
  },
  event: {
    sender: { sender_id: { open_id: 'ou_ada' } },
    message: { message_id: 'om_1', chat_id: 'oc_1', content: '{"text":"hello"}' },
  },
}

export const LARK_SAMPLE: Sample = {
  body: encrypted(LARK_EVENT),
  sign: signedByLark,
  // Not signed: https://github.com/openclaw/openclaw/issues/58905.
  async handshake({ hook }) {
    const body = encrypted({ challenge: 'ajls384kdjx98XX', token: 'x', type: 'url_verification' })
    const response = await fetch(hook, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' },
    })
    assert.deepEqual([response.status, await response.json()], [200, { challenge: 'ajls384kdjx98XX' }])
  },
}
