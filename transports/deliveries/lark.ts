import { createDecipheriv, hash } from 'node:crypto'
import { TriviumError } from '../../src/core/errors.ts'
import { parseForeignJson } from '../../src/core/foreign-json.ts'
import { isJsonObject, pathGet } from '../../src/core/json.ts'
import { attempt } from '../../src/lib/attempt.ts'
import { type Answer, json, type Preset } from './preset.ts'

const CHALLENGE = /^[\w-]{1,200}$/
const IV_BYTES = 16

/**
 * Lark and Feishu with an Encrypt Key:
 * https://open.larksuite.com/document/server-docs/event-subscription-guide/event-subscription-configure-/encrypt-key-encryption-configuration-case.
 * The request that checks the address is encrypted, but not signed. Lark repeats a delivery unless
 * the answer is 200.
 */
export const LARK: Preset = {
  signature: [
    {
      header: 'x-lark-signature',
      isHash: true,
      time: { header: 'x-lark-request-timestamp' },
      template: '{timestamp}{header.x-lark-request-nonce}{secret}{body}',
    },
  ],
  greetBody(raw, { secret }): Answer | undefined {
    const body = parseForeignJson(decrypted(raw, secret)?.toString() ?? '')
    const challenge = pathGet(body, 'challenge')
    if (pathGet(body, 'type') !== 'url_verification' || typeof challenge !== 'string') return undefined
    return CHALLENGE.test(challenge) ? json({ challenge }) : undefined
  },
  open(raw, secret) {
    const body = decrypted(raw, secret)
    if (body) return body
    throw new TriviumError('bad_request', {
      reason: 'its body is not encrypted with the Encrypt Key: set one in the console of Lark',
    })
  },
  // Functions, because the location `header.event_id` would mean an HTTP header; here `header` is a
  // field of the body. Events of version 1 have `uuid` and `event.type`.
  key: ({ body }) => textAt(body, 'header.event_id') ?? textAt(body, 'uuid'),
  event: ({ body }) => textAt(body, 'header.event_type') ?? textAt(body, 'event.type'),
  from: 'event.sender.sender_id.open_id event.operator.open_id event.operator_id.open_id event.open_id',
  conversation: 'event.message.chat_id event.context.open_chat_id event.open_chat_id',
  answer: json,
}

function textAt(body: unknown, path: string): string | undefined {
  const value = pathGet(body, path)
  return typeof value === 'string' && value !== '' ? value : undefined
}

/**
 * The JSON in `{"encrypt":"…"}`. The value has the initialisation vector, then the text in
 * AES-256-CBC. The key is the SHA-256 of the secret.
 */
function decrypted(raw: Buffer, secrets: readonly string[]): Buffer | undefined {
  const sealed = pathGet(parseForeignJson(raw.toString()), 'encrypt')
  if (typeof sealed !== 'string') return undefined
  const bytes = Buffer.from(sealed, 'base64')
  for (const secret of secrets) {
    const opened = attempt(() => {
      const iv = bytes.subarray(0, IV_BYTES)
      const decipher = createDecipheriv('aes-256-cbc', hash('sha256', secret, 'buffer'), iv)
      return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES)), decipher.final()])
    })
    // A wrong key may leave valid padding, but hardly ever JSON.
    if (opened && isJsonObject(parseForeignJson(opened.toString()))) return opened
  }
  return undefined
}
